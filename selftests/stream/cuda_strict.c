// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CUDA driver does that is easy to forget: copies from and to memory that is
 * not pinned block, a thread's contexts are its own, captures forbid calls, and
 * events are used again. And a program that uses the driver itself, or a library
 * that does: its CUstream is borrowed, one of ours handed out, and work that it
 * puts there by itself is ordered by what it is said to touch, like any other.
 */
#include "script.h"

#define LARGE (4 << 20)
#define CUDA  DROVER_BACKEND_CUDA

static unsigned char large[LARGE];
static atomic_int tid;
static int nr_issued;

static pthread_t started(void *(*main)(void *), void *arg)
{
	pthread_t thread;

	tid = 0;
	thread = thread_of(main, arg);
	reached(&tid, 1);
	asleep(tid);
	return thread;
}

static void *read_back(void *arg)
{
	tid = blocked_gettid();
	script_say("copy s h a;");
	return NULL;
}

static void *open_later(void *gate)
{
	/* Before the watchdog, but late enough for all that does not wait. */
	for (int i = 0; i < 300 && !tid; i++)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	gate_open(gate);
	return NULL;
}

static void test_blocking_copy(void)
{
	struct gate *gate = &script.gates['x'];
	pthread_t reader, opener;
	bool was_open;

	script_start("a copy that blocks", " s t", CUDA, DROVER_BACKEND_CPU);
	script_say("fill s a 3; gate x s;");
	reader = started(read_back, NULL);
	tid = 0;
	opener = thread_of(open_later, gate);
	script_say("record t e; fill t i 1; record s e;");
	drover_mutex_lock(&gate->lock);
	was_open = gate->is_open;
	drover_mutex_unlock(&gate->lock);
	tap_ok(!was_open, "a copy blocks who called it, and nobody else");
	tid = 1;
	joined(opener);
	joined(reader);
	script_say("is h 3;");
	script_end();
}

static void test_contexts(void)
{
	script_start("contexts", " s", CUDA, CUDA);
	script_memory('a');
	mock_cuda.push(2);
	mock_cuda.fail("cuCtxPushCurrent_v2", 0, 201);
	tap_ok(cuda_fill_submit(&script.streams['s'], script_memory('a'), 1,
				BYTES, NULL),
	       "a context that is not to be had is an error");
	tap_is(mock_cuda.push(-2), 0, "and the caller's are as they were");
	script_end();

	script_start("somebody captures", " s", CUDA, CUDA);
	script_say("fill s a 5 @1; record s e;");
	mock_cuda.capture_elsewhere(true);
	drover_stream_synchronize(&script.streams['s']);
	drover_ticket_done(&script.events['e'].at);
	script_say("copy s h a = 0;");
	mock_cuda.capture_elsewhere(false);
	script_say("is h 5;");
	script_end();
}

/* Runs only when nobody else wants the CPU. */
static void *wait_ticket(void *arg)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		tap_bail("SCHED_IDLE");
	tid = blocked_gettid();
	script_say("ticket 1;");
	return NULL;
}

/* The event of who waits is not to be recorded again meanwhile. */
static void test_events(void)
{
	cpu_set_t all, one = one_cpu();
	pthread_t waiter;

	sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(one), &one);
	script_start("events", " s", CUDA, CUDA);
	script_say("gate x s; fill s a 1 @1; fill s a 1;");
	waiter = started(wait_ticket, NULL);
	script_say("open x;");
	while (drover_ticket_done(&script.tickets[1]) == EINPROGRESS)
		;
	script_say("gate y s; fill s a 1 @2; fill s a 1;");
	joined(waiter);
	tap_ok(true, "who waits for an event does not wait for later work");
	script_say("open y; drain s;");
	script_end();
	sched_setaffinity(0, sizeof(all), &all);
}

/* A ring that is full: the oldest have to be done, and not all. */
static void test_full_ring(void)
{
	const drover_streamattr_t attr = { .backend = CUDA, .depth = 16 };

	script_start("a full ring", "", CUDA, CUDA);
	MUST(drover_stream_create(&script.streams['s'], &attr));
	script.exists['s'] = true;
	for (int i = 0; i < 2; i++) {
		script_say(i ? "gate y s;" : "gate x s;");
		for (int j = 0; j < 7; j++)
			script_say("fill s a 1;");
	}
	script_say("later x; fill s a 9; waited x;");
	tap_ok(!script.gates['y'].is_open, "it waits for its oldest part");
	script_say("open y; drain s;");
	script_end();
}

static void test_large_copies(void)
{
	drover_stream_t *s = &script.streams['s'];
	unsigned char *a;

	script_start("a large copy allocates no pinned memory", " s", CUDA,
		     CUDA);
	script_say("count cuMemHostAlloc;");
	a = device_memory(s, LARGE);
	for (int i = 0; i < 3; i++) {
		memset(large, i + 1, LARGE);
		MUST(drover_stream_copy_staged(s, a, large, LARGE, NULL));
		memset(large, 0, LARGE);
	}
	script_say("calls cuMemHostAlloc 0;");
	MUST(drover_stream_copy(s, large, a, LARGE));
	tap_ok(all_are(large, 3, LARGE), "and copies all");
	MUST(drover_stream_free(s, a));
	script_end();
}

static void test_shared_memory(void)
{
	const struct fill fill = { script_host[0], 0, 1 };
	drover_kernel_t kernel = mock_cuda.fill;
	drover_access_t nothing = { 0 };

	script_start("shared memory", " s", CUDA, CUDA);
	kernel.shared = 64 << 10;
	tap_is(drover_stream_run(&script.streams['s'], &kernel, &fill,
				 sizeof(fill), &nothing, 0, NULL),
	       0, "more than 48 KiB of shared memory");
	script_end();
}

/* ---- foreign work: what a library does that is given a CUstream ---- */

struct foreign {
	void *to;
	int byte, err;
};

static int foreign_issue(void *native, const void *args)
{
	const struct foreign *f = args;

	nr_issued++;
	if (f->err)
		return f->err;
	return mock_cuda.set((uintptr_t)f->to, (unsigned char)f->byte, BYTES,
			     native) ?
		       EIO :
		       0;
}

/* It sets @memory, or fails. */
static int foreign(int stream, int memory, int byte, int err)
{
	const drover_kernel_t kernel = { .issue = foreign_issue };
	struct foreign f = { script_memory(memory), byte, err };
	drover_access_t writes = { f.to, BYTES, DROVER_WRITE };

	return drover_stream_run(&script.streams[stream], &kernel, &f,
				 sizeof(f), &writes, 1, NULL);
}

/* Both ways: what comes before it and what comes behind, in another stream. */
static void test_order(int s, int other)
{
	script_say(s == 's' ? "fill s a 1; fill s b 1; gate x t; add t b a;" :
			      "fill t a 1; fill t b 1; gate x s; add s b a;");
	MUST(foreign(s, 'a', 7, 0));
	script_say(other == 't' ? "add t b a; open x; copy t h b; is h 9;" :
				  "add s b a; open x; copy s h b; is h 9;");
}

static void test_borrowed(void)
{
	drover_streamattr_t attr = { .backend = CUDA };
	void *native = NULL;

	script_start("a borrowed stream", " t", CUDA, CUDA);
	mock_cuda.push(1);
	if (mock_cuda.stream_create(&attr.native, 1, 0))
		tap_bail("no CUstream");
	MUST(drover_stream_create(&script.streams['s'], &attr));
	script.exists['s'] = true;
	MUST(drover_stream_native(&script.streams['s'], &native));
	tap_ok(native == attr.native, "it is the one that was lent");
	test_order('s', 't');
	test_order('t', 's');
	nr_issued = 0;
	script_say("fill s a 0; capture s;");
	MUST(foreign('s', 'a', 3, 0));
	script_say("add s a a; end s g; replay s g; fill s a 9; replay s g; "
		   "copy s h a; is h 6; drop g; count cuStreamDestroy_v2;");
	tap_is(nr_issued, 1, "captured once, and replayed");
	/* Of the last the driver does not know. */
	script_say("put s p 5; sync s; is p 5; free s p; put s h 5 = EXDEV; "
		   "destroy s; calls cuStreamDestroy_v2 0;");
	mock_cuda.stream_destroy(attr.native);
	script_end();
	mock_cuda.push(-1);
}

/* What others put into ours, knowing nothing of us, is in front of what follows. */
static void test_handed_out(void)
{
	drover_streamattr_t wrong = { .native = script_host[0] };
	drover_stream_t *s = &script.streams['s'];
	void *native;

	script_start("a stream that is handed out", " s t", CUDA,
		     DROVER_BACKEND_CPU);
	MUST(drover_stream_native(s, &native));
	MUST(drover_stream_set(s, script_memory('a'), 1, BYTES, NULL));
	mock_cuda.push(1);
	mock_cuda.set((uintptr_t)script_memory('a'), 4, BYTES, native);
	mock_cuda.push(-1);
	script_say("add s a a; copy s h a; is h 8;");
	tap_is(drover_stream_native(&script.streams['t'], &native), EINVAL,
	       "the CPU has none to hand out");
	tap_is(drover_stream_create(&script.streams['u'], &wrong), EINVAL,
	       "nor to be lent");
	script_end();
	script_start("foreign work that fails", " s", CUDA, CUDA);
	tap_is(foreign('s', 'a', 0, ENOSPC), ENOSPC,
	       "foreign work that fails: its error is that of the submit");
	script_say("free s a; destroy s = ENOSPC;");
}

int main(void)
{
	drover_stream_t kernels;

	tap_plan(11 + 8 + 5);
	watchdog_seconds = 20;
	mock_cuda_start();
	kernels = stream_of(CUDA, DROVER_ORDER_ENGINE);
	test_contexts();
	test_shared_memory();
	test_large_copies();
	test_events();
	test_blocking_copy();
	test_full_ring();
	test_borrowed();
	test_handed_out();
	drover_stream_destroy(&kernels);
	return tap_exit();
}
