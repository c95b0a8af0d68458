// SPDX-License-Identifier: GPL-2.0-only
/*
 * A captured graph does at each replay what its operations would have done,
 * once more, as one operation that is ordered like any other.
 */
#include "blocks.h"

#define BYTES	   256
#define NR_RESULTS 18

static unsigned char host[BYTES], back[BYTES];

static int count_call(void *arg)
{
	++*(int *)arg;
	return 0;
}

static void test_replay(const char *name, drover_stream_t *s)
{
	unsigned char *sum = device_memory(s, BYTES);
	unsigned char *in = device_memory(s, BYTES);
	unsigned char *twos = device_memory(s, BYTES);
	int called = 0;
	drover_access_t call = { &called, sizeof(called),
				 DROVER_READ | DROVER_WRITE };
	drover_stream_counts_t before;
	drover_graph_t *graph;
	drover_ticket_t ticket;
	unsigned char local[BYTES];
	bool right = true;

	MUST(fill_submit(s, sum, 0, BYTES, NULL));
	MUST(drover_stream_drain(s));
	memset(local, 2, BYTES);
	before = counts_of(s);
	MUST(drover_stream_capture(s));
	tap_is(drover_stream_capture(s), EBUSY, "%s: captures already", name);
	MUST(drover_stream_copy_staged(s, twos, local, BYTES, &ticket));
	MUST(drover_stream_copy_borrowed(s, in, host, BYTES, NULL));
	MUST(add_submit(s, sum, in, BYTES, NULL));
	MUST(add_submit(s, sum, twos, BYTES, NULL));
	MUST(drover_stream_host_call(s, count_call, &called, &call, 1, NULL));
	tap_is(drover_stream_synchronize(s), EBUSY,
	       "%s: no synchronization inside", name);
	tap_is(drover_stream_copy(s, sum, host, 1), EBUSY,
	       "%s: no blocking copy inside", name);
	tap_is(drover_stream_destroy(s), EBUSY, "%s: no end inside", name);
	MUST(drover_stream_capture_end(s, &graph));
	tap_is(drover_ticket_done(&ticket), 0, "%s: tickets inside are done",
	       name);
	memset(local, 99, BYTES);
	tap_ok(counts_of(s).operations == before.operations && !called,
	       "%s: nothing was run yet", name);

	for (int i = 1; i <= 5; i++) {
		memset(host, i, BYTES);
		MUST(drover_graph_replay(s, graph, &ticket));
		MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
		MUST(drover_stream_copy(s, back, sum, BYTES));
		right &= all_are(back, i * (i + 1) / 2 + 2 * i, BYTES);
	}
	tap_ok(right && called == 5, "%s: five replays", name);
	tap_is((long)(counts_of(s).bytes - before.bytes), 5 * 3 * BYTES,
	       "%s: and their bytes", name);

	/* The graph goes before it was carried out. */
	MUST(drover_graph_replay(s, graph, NULL));
	MUST(drover_graph_destroy(graph));
	MUST(drover_stream_synchronize(s));
	tap_is(called, 6, "%s: destroyed while it is under way", name);
	MUST(drover_stream_free(s, sum));
	MUST(drover_stream_free(s, in));
	MUST(drover_stream_free(s, twos));
}

/* A replay conflicts with what its operations would have conflicted with. */
static void test_order(const char *name, drover_stream_t *s, uint32_t backend)
{
	drover_stream_t t = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(s, BYTES);
	unsigned char *b = device_memory(s, BYTES);
	struct gate gate = GATE_INIT;
	drover_graph_t *graph;

	MUST(fill_submit(s, a, 1, BYTES, NULL));
	MUST(fill_submit(s, b, 1, BYTES, NULL));
	MUST(drover_stream_capture(s));
	MUST(add_submit(s, b, a, BYTES, NULL));
	MUST(drover_stream_capture_end(s, &graph));
	gate_submit(&gate, s, a, BYTES);
	MUST(drover_graph_replay(s, graph, NULL));
	gate_open_when_asleep(&gate);
	MUST(drover_stream_synchronize(s));
	MUST(drover_stream_copy(&t, back, b, BYTES));
	gate_was_waited_for(&gate);
	tap_ok(all_are(back, gate.byte + 1, BYTES),
	       "%s: what another stream reads waits for the replay", name);
	tap_is(drover_stream_capture_end(s, &graph), EINVAL,
	       "%s: no capture to be ended", name);
	MUST(drover_graph_destroy(graph));
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_free(s, b));
	MUST(drover_stream_destroy(&t));
}

/* Events in a graph: recorded anew, waited for anew. */
static void test_events(const char *name, drover_stream_t *s, uint32_t backend)
{
	drover_stream_t t = stream_of(backend, DROVER_ORDER_CALLER);
	drover_stream_t u = stream_of(backend, DROVER_ORDER_CALLER);
	unsigned char *a = device_memory(s, BYTES);
	drover_event_t before = { 0 }, behind = { 0 };
	struct gate gate = GATE_INIT;
	drover_graph_t *graph;

	MUST(drover_stream_capture(&t));
	MUST(drover_stream_wait_event(&t, &before));
	MUST(add_submit(&t, a, a, BYTES, NULL));
	MUST(drover_stream_record(&t, &behind));
	MUST(drover_stream_capture_end(&t, &graph));
	gate_submit(&gate, s, a, BYTES);
	MUST(drover_stream_record(s, &before));
	gate_open_when_asleep(&gate);
	MUST(drover_graph_replay(&t, graph, NULL));
	MUST(drover_stream_wait_event(&u, &behind));
	MUST(add_submit(&u, a, a, BYTES, NULL));
	MUST(drover_stream_drain(&u));
	gate_was_waited_for(&gate);
	tap_ok(all_are(a, gate.byte * 4, BYTES),
	       "%s: a graph that waits for an event and records one", name);
	MUST(drover_graph_destroy(graph));
	MUST(drover_stream_drain(&t));
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_destroy(&u));
	MUST(drover_stream_destroy(&t));
}

static void test_failure(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_graph_t *graph;
	drover_ticket_t ticket;

	memset(host, 0, BYTES);
	MUST(drover_stream_capture(&s));
	MUST(fill_submit(&s, host, 1, BYTES, NULL));
	MUST(fail_submit(&s, ENOSPC, host, BYTES, NULL));
	MUST(fill_submit(&s, host, 2, BYTES, NULL));
	MUST(drover_stream_capture_end(&s, &graph));
	MUST(drover_graph_replay(&s, graph, &ticket));
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "%s: an operation inside fails the replay", name);
	tap_ok(all_are(host, 1, BYTES), "%s: those behind it were not run",
	       name);
	tap_is(drover_graph_replay(&s, graph, NULL), ENOSPC,
	       "%s: and so does the stream", name);
	MUST(drover_graph_destroy(graph));
	tap_is(drover_stream_destroy(&s), ENOSPC, "%s: to its end", name);
}

static void test_elsewhere(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_stream_t t = stream_of(backend == DROVER_BACKEND_CPU ?
					      DROVER_BACKEND_EAGER :
					      DROVER_BACKEND_CPU,
				      DROVER_ORDER_ENGINE);
	drover_stream_t u = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_graph_t *graph;

	MUST(drover_stream_capture(&s));
	MUST(fill_submit(&s, host, 77, BYTES, NULL));
	MUST(drover_stream_capture_end(&s, &graph));
	MUST(drover_stream_destroy(&s));
	tap_is(drover_graph_replay(&t, graph, NULL), EINVAL,
	       "%s: not on another backend", name);
	MUST(drover_graph_replay(&u, graph, NULL));
	MUST(drover_stream_synchronize(&u));
	tap_ok(all_are(host, 77, BYTES),
	       "%s: on another stream, when the first is gone", name);
	MUST(drover_graph_destroy(graph));
	MUST(drover_graph_destroy(NULL));
	MUST(drover_stream_destroy(&u));
	MUST(drover_stream_destroy(&t));
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);

	watchdog(name);
	test_replay(name, &s);
	test_order(name, &s, backend);
	test_events(name, &s, backend);
	MUST(drover_stream_destroy(&s));
	test_failure(name, backend);
	test_elsewhere(name, backend);
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
