// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CUDA driver does that is easy to forget: memory and graphs are gone with
 * the last reference to the context, copies from and to memory that is not pinned
 * block, a thread's contexts are its own, captures forbid calls, and events are
 * used again.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run.h"
#include "../mock/cuda/mock_cuda.h"

#define BYTES 4096

static unsigned char host[4 << 20], back[BYTES];
static atomic_int tid;

static drover_stream_t cuda_stream(uint32_t depth)
{
	drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA,
				     .depth = depth };
	drover_stream_t stream;

	MUST(drover_stream_create(&stream, &attr));
	return stream;
}

static pthread_t started(void *(*main)(void *), void *arg)
{
	pthread_t thread;

	tid = 0;
	thread = thread_of(main, arg);
	reached(&tid, 1);
	return thread;
}

/* ---- copies that block ---- */

struct blocked_copy {
	drover_stream_t *stream;
	unsigned char *from;
};

static void *read_back(void *arg)
{
	struct blocked_copy *copy = arg;

	tid = blocked_gettid();
	MUST(drover_stream_copy(copy->stream, back, copy->from, BYTES));
	return NULL;
}

static void *open_later(void *arg)
{
	/* Before the watchdog, but late enough for all that does not wait. */
	for (int i = 0; i < 300 && !tid; i++)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	gate_open(arg);
	return NULL;
}

static void test_blocking_copy(void)
{
	drover_stream_t s = cuda_stream(0);
	drover_stream_t c = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	struct blocked_copy copy = { &s, device_memory(&s, BYTES) };
	struct gate gate = GATE_INIT;
	pthread_t reader, opener;
	drover_event_t event;
	bool was_open;

	watchdog("a copy that blocks");
	MUST(cuda_fill_submit(&s, copy.from, 3, BYTES, NULL));
	cuda_gate_block(&gate, &s);
	reader = started(read_back, &copy);
	asleep(tid);
	tid = 0;
	opener = thread_of(open_later, &gate);
	MUST(drover_stream_record(&c, &event));
	MUST(fill_submit(&c, host, 1, BYTES, NULL));
	MUST(drover_stream_record(&s, &event));
	drover_mutex_lock(&gate.lock);
	was_open = gate.is_open;
	drover_mutex_unlock(&gate.lock);
	tap_ok(!was_open, "a copy blocks who called it, and nobody else");
	tid = 1;
	joined(opener);
	joined(reader);
	tap_ok(all_are(back, 3, BYTES), "and it is done in the end");
	MUST(drover_stream_free(&s, copy.from));
	MUST(drover_stream_destroy(&s));
	MUST(drover_stream_destroy(&c));
}

/* ---- contexts and captures of the caller's ---- */

static void test_contexts(void)
{
	drover_stream_t s = cuda_stream(0);
	unsigned char *a = device_memory(&s, BYTES);
	drover_event_t event;

	watchdog("contexts");
	mock_cuda.push(2);
	mock_cuda.fail("cuCtxPushCurrent_v2", 0, 201);
	tap_ok(cuda_fill_submit(&s, a, 1, BYTES, NULL) != 0,
	       "a context that is not to be had is an error");
	tap_is(mock_cuda.push(-2), 0, "and the caller's are as they were");
	drover_stream_free(&s, a);
	drover_stream_destroy(&s);

	s = cuda_stream(0);
	a = device_memory(&s, BYTES);
	MUST(cuda_fill_submit(&s, a, 5, BYTES, NULL));
	MUST(drover_stream_record(&s, &event));
	mock_cuda.capture_elsewhere(true);
	drover_stream_synchronize(&s);
	drover_ticket_done(&event.at);
	tap_is(drover_stream_copy(&s, back, a, BYTES), 0,
	       "while somebody captures nothing is lost");
	mock_cuda.capture_elsewhere(false);
	tap_ok(all_are(back, 5, BYTES), "nor wrong");
	drover_stream_free(&s, a);
	drover_stream_destroy(&s);
}

/* Runs only when nobody else wants the CPU. */
static void *wait_ticket(void *arg)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		tap_bail("SCHED_IDLE");
	tid = blocked_gettid();
	MUST(drover_ticket_wait(arg, CLOCK_MONOTONIC, NULL));
	return NULL;
}

/* The event of who waits is not to be recorded again meanwhile. */
static void test_events(void)
{
	unsigned char *a;
	drover_stream_t s;
	cpu_set_t all, one = one_cpu();
	struct gate gate = GATE_INIT, later = GATE_INIT;
	drover_ticket_t first, next;
	pthread_t waiter;

	watchdog("events");
	sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(one), &one);
	s = cuda_stream(0);
	a = device_memory(&s, BYTES);
	cuda_gate_block(&gate, &s);
	MUST(cuda_fill_submit(&s, a, 1, BYTES, &first));
	MUST(cuda_fill_submit(&s, a, 1, BYTES, NULL));
	waiter = started(wait_ticket, &first);
	asleep(tid);
	gate_open(&gate);
	while (drover_ticket_done(&first) == EINPROGRESS)
		;
	cuda_gate_block(&later, &s);
	MUST(cuda_fill_submit(&s, a, 1, BYTES, &next));
	MUST(cuda_fill_submit(&s, a, 1, BYTES, NULL));
	joined(waiter);
	tap_ok(true, "who waits for an event does not wait for later work");
	gate_open(&later);
	MUST(drover_stream_drain(&s));
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
	sched_setaffinity(0, sizeof(all), &all);
}

/* A ring that is full: the oldest have to be done, and not all. */
static void test_full_ring(void)
{
	drover_stream_t s = cuda_stream(16);
	unsigned char *a = device_memory(&s, BYTES);
	struct gate gates[3] = { GATE_INIT, GATE_INIT, GATE_INIT };

	watchdog("a full ring");
	cuda_gate_block(&gates[0], &s);
	for (int i = 0; i < 7; i++)
		MUST(cuda_fill_submit(&s, a, i, BYTES, NULL));
	cuda_gate_block(&gates[1], &s);
	for (int i = 0; i < 7; i++)
		MUST(cuda_fill_submit(&s, a, i, BYTES, NULL));
	gate_open_when_asleep(&gates[0]);
	MUST(cuda_fill_submit(&s, a, 9, BYTES, NULL));
	gate_was_waited_for(&gates[0]);
	tap_ok(!gates[1].is_open, "a full ring waits for its oldest part");
	gate_open(&gates[1]);
	MUST(drover_stream_drain(&s));
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
}

static void test_large_copies(void)
{
	drover_stream_t s = cuda_stream(0);
	unsigned char *a = device_memory(&s, sizeof(host));
	int allocations = mock_cuda.calls("cuMemHostAlloc");

	watchdog("large copies");
	for (int i = 0; i < 3; i++) {
		memset(host, i + 1, sizeof(host));
		MUST(drover_stream_copy_staged(&s, a, host, sizeof(host),
					       NULL));
		memset(host, 0, sizeof(host));
	}
	tap_is(mock_cuda.calls("cuMemHostAlloc") - allocations, 0,
	       "a large copy allocates no pinned memory");
	MUST(drover_stream_copy(&s, host, a, sizeof(host)));
	tap_ok(all_are(host, 3, sizeof(host)), "and copies all");
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
}

static void test_shared_memory(void)
{
	drover_stream_t s = cuda_stream(0);
	drover_kernel_t kernel = mock_cuda.fill;
	const struct fill fill = { back, 0, 1 };
	drover_access_t nothing = { 0 };

	kernel.shared = 64 << 10;
	tap_is(drover_stream_run(&s, &kernel, &fill, sizeof(fill), &nothing, 0,
				 NULL),
	       0, "more than 48 KiB of shared memory");
	drover_stream_destroy(&s);
}

int main(void)
{
	drover_stream_t kernels;

	tap_plan(11);
	watchdog_seconds = 20;
	mock_cuda_start();
	kernels = cuda_stream(0);
	mock_cuda_kernels(&kernels);
	test_contexts();
	test_shared_memory();
	test_large_copies();
	test_events();
	test_blocking_copy();
	test_full_ring();
	drover_stream_destroy(&kernels);
	return tap_exit();
}
