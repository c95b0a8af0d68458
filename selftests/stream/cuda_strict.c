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

static void *own_thread(pthread_t *thread, void *(*main)(void *), void *arg)
{
	atomic_store(&tid, 0);
	if (pthread_create(thread, NULL, main, arg))
		tap_bail("no thread");
	if (wait_at_least(&tid, 1))
		tap_bail("it does not start");
	return NULL;
}

/* ---- the end of the last stream ---- */

static void test_last_stream(void)
{
	drover_stream_t s = cuda_stream(0);
	unsigned char *a = device_memory(&s, BYTES);
	drover_graph_t *graph;

	watchdog("the last stream");
	mock_cuda_kernels(&s);
	MUST(cuda_fill_submit(&s, a, 7, BYTES, NULL));
	MUST(drover_stream_capture(&s));
	MUST(cuda_add_submit(&s, a, a, BYTES, NULL));
	MUST(drover_stream_capture_end(&s, &graph));
	MUST(drover_stream_destroy(&s));
	s = cuda_stream(0);
	MUST(drover_stream_copy(&s, back, a, BYTES));
	tap_ok(all_are(back, 7, BYTES), "memory outlives the last stream");
	tap_is(drover_graph_replay(&s, graph, NULL), 0, "and so do graphs");
	MUST(drover_graph_destroy(graph));
	drover_stream_copy(&s, back, a, BYTES);
	tap_ok(all_are(back, 14, BYTES), "which do what they did");
	drover_stream_free(&s, a);
	drover_stream_destroy(&s);
}

/* ---- copies that block ---- */

struct blocked_copy {
	drover_stream_t *stream;
	unsigned char *from;
};

static void *read_back(void *arg)
{
	struct blocked_copy *copy = arg;

	atomic_store(&tid, blocked_gettid());
	MUST(drover_stream_copy(copy->stream, back, copy->from, BYTES));
	return NULL;
}

static void *open_later(void *arg)
{
	/* Before the watchdog, but late enough for all that does not wait. */
	for (int i = 0; i < 300 && !atomic_load(&tid); i++)
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
	own_thread(&reader, read_back, &copy);
	if (wait_blocked(getpid(), atomic_load(&tid), NULL))
		tap_bail("the copy does not block");
	atomic_store(&tid, 0);
	if (pthread_create(&opener, NULL, open_later, &gate))
		tap_bail("no thread");
	MUST(drover_stream_record(&c, &event));
	MUST(fill_submit(&c, host, 1, BYTES, NULL));
	MUST(drover_stream_record(&s, &event));
	drover_mutex_lock(&gate.lock);
	was_open = gate.is_open;
	drover_mutex_unlock(&gate.lock);
	tap_ok(!was_open, "a copy blocks who called it, and nobody else");
	atomic_store(&tid, 1);
	pthread_join(opener, NULL);
	pthread_join(reader, NULL);
	tap_ok(all_are(back, 3, BYTES), "and it is done in the end");
	MUST(drover_stream_free(&s, copy.from));
	MUST(drover_stream_destroy(&s));
	MUST(drover_stream_destroy(&c));
}

/* From pinned memory nobody waits, and it is the host's in all other ways. */
static void test_pinned_memory(void)
{
	drover_stream_t s = cuda_stream(0);
	unsigned char *a = device_memory(&s, BYTES);
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;
	void *pinned;

	watchdog("pinned memory");
	MUST(drover_stream_alloc_host(&s, BYTES, &pinned));
	memset(pinned, 4, BYTES);
	cuda_gate_block(&gate, &s);
	MUST(drover_stream_copy_borrowed(&s, a, pinned, BYTES, NULL));
	MUST(cuda_add_submit(&s, a, a, BYTES, NULL));
	MUST(drover_stream_copy_borrowed(&s, pinned, a, BYTES, &ticket));
	tap_is(drover_ticket_done(&ticket), EINPROGRESS,
	       "copies from and to pinned memory block nobody");
	gate_open_when_asleep(&gate);
	MUST(drover_stream_synchronize(&s));
	gate_was_waited_for(&gate);
	tap_ok(all_are(pinned, 8, BYTES), "and a synchronization waits");
	MUST(drover_stream_free(&s, pinned));
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
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

/* ---- graphs with host calls ---- */

static int no_space(void *arg)
{
	(void)arg;
	return ENOSPC;
}

static void test_graph_call(void)
{
	drover_stream_t s = cuda_stream(0), other;
	drover_access_t nothing = { 0 };
	drover_graph_t *graph;
	drover_ticket_t ticket;

	watchdog("a graph with a host call");
	MUST(drover_stream_capture(&s));
	MUST(drover_stream_host_call(&s, no_space, NULL, &nothing, 0, NULL));
	MUST(drover_stream_capture_end(&s, &graph));
	MUST(drover_stream_destroy(&s));
	/* It has the slot of the one that captured. */
	s = cuda_stream(0);
	other = cuda_stream(0);
	MUST(drover_graph_replay(&other, graph, &ticket));
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "a call in a graph fails where it is replayed");
	tap_is(drover_stream_drain(&s), 0, "and nowhere else");
	MUST(drover_graph_destroy(graph));
	tap_is(drover_stream_destroy(&other), ENOSPC, "as it was to be");
	drover_stream_destroy(&s);
}

/* ---- events, rings, large copies, shared memory ---- */

/* All threads on one CPU, or where they were. */
static void pin(cpu_set_t *all, bool on)
{
	cpu_set_t one;
	int cpu = 0;

	if (on && sched_getaffinity(0, sizeof(*all), all))
		tap_bail("sched_getaffinity");
	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), on ? &one : all))
		tap_bail("sched_setaffinity");
}

/* Runs only when nobody else wants the CPU. */
static void *wait_ticket(void *arg)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		tap_bail("SCHED_IDLE");
	atomic_store(&tid, blocked_gettid());
	MUST(drover_ticket_wait(arg, CLOCK_MONOTONIC, NULL));
	return NULL;
}

/* The event of who waits is not to be recorded again meanwhile. */
static void test_events(void)
{
	unsigned char *a;
	drover_stream_t s;
	cpu_set_t all;
	struct gate gate = GATE_INIT, later = GATE_INIT;
	drover_ticket_t first, next;
	pthread_t waiter;

	watchdog("events");
	pin(&all, true);
	s = cuda_stream(0);
	a = device_memory(&s, BYTES);
	cuda_gate_block(&gate, &s);
	MUST(cuda_fill_submit(&s, a, 1, BYTES, &first));
	MUST(cuda_fill_submit(&s, a, 1, BYTES, NULL));
	own_thread(&waiter, wait_ticket, &first);
	if (wait_blocked(getpid(), atomic_load(&tid), NULL))
		tap_bail("it does not wait");
	gate_open(&gate);
	while (drover_ticket_done(&first) == EINPROGRESS)
		;
	cuda_gate_block(&later, &s);
	MUST(cuda_fill_submit(&s, a, 1, BYTES, &next));
	MUST(cuda_fill_submit(&s, a, 1, BYTES, NULL));
	pthread_join(waiter, NULL);
	tap_ok(true, "who waits for an event does not wait for later work");
	gate_open(&later);
	MUST(drover_stream_drain(&s));
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
	pin(&all, false);
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
	tap_plan(19);
	watchdog_seconds = 20;
	mock_cuda_start();
	test_last_stream();
	test_contexts();
	test_graph_call();
	test_shared_memory();
	test_large_copies();
	test_events();
	test_blocking_copy();
	test_pinned_memory();
	test_full_ring();
	return tap_exit();
}
