// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which synchronizations go and which stay, by the counters, with everything
 * surely still under way.
 *
 * APIs: drover stream/debug_elision
 */
#include "blocks.h"

#define BYTES	   256
#define NR_RESULTS 13

static unsigned char host[BYTES], back[BYTES], other_host[BYTES];

/* What has been counted since @before, as one number to compare. */
static long since(drover_stream_t *s, const drover_stream_counts_t *before)
{
	drover_stream_counts_t now = counts_of(s);

	return (long)((now.asked - before->asked) * 1000 +
		      (now.elided - before->elided) * 100 +
		      (now.deferred - before->deferred) * 10 +
		      (now.waited - before->waited));
}

static void test_device_only(const char *name, drover_stream_t *s,
			     unsigned char *a, unsigned char *b)
{
	drover_stream_counts_t before = counts_of(s);
	struct gate gate = GATE_INIT;

	gate_block(&gate, s);
	for (int i = 0; i < 4; i++) {
		MUST(drover_stream_copy_staged(s, a + 64 * i, host, 64, NULL));
		MUST(drover_stream_synchronize(s));
	}
	tap_is(since(s, &before), 4400, "%s: after staged copies: elided",
	       name);
	MUST(fill_submit(s, b, 5, BYTES, NULL));
	MUST(drover_stream_synchronize(s));
	tap_is(since(s, &before), 5500,
	       "%s: after a kernel on device memory: elided", name);
	tap_is((long)counts_of(s).waited, (long)before.waited,
	       "%s: the host has not waited", name);
	gate_open(&gate);
	MUST(drover_stream_drain(s));
}

static void test_host_memory(const char *name, drover_stream_t *s,
			     unsigned char *a)
{
	drover_stream_counts_t before = counts_of(s);
	struct gate gate = GATE_INIT;

	/* The gate writes the source, so the copy comes late anywhere. */
	gate_submit(&gate, s, a, BYTES);
	gate_open_when_asleep(&gate);
	MUST(drover_stream_copy_borrowed(s, back, a, BYTES, NULL));
	MUST(drover_stream_synchronize(s));
	gate_was_waited_for(&gate);
	tap_ok(all_are(back, gate.byte, BYTES),
	       "%s: after a copy to the host: it waits", name);
	tap_is((long)(counts_of(s).asked - before.asked), 1,
	       "%s: asked for once", name);

	before = counts_of(s);
	gate = (struct gate)GATE_INIT;
	gate_block(&gate, s);
	MUST(fill_submit(s, other_host, 1, BYTES, NULL));
	MUST(fill_submit(s, a, 1, BYTES, NULL));
	gate_open_when_asleep(&gate);
	MUST(drover_stream_synchronize(s));
	gate_was_waited_for(&gate);
	tap_is(since(s, &before), 1001,
	       "%s: after a kernel on host memory: it waits", name);
}

static void test_for(const char *name, drover_stream_t *s, unsigned char *a)
{
	drover_access_t mine = { host, BYTES, DROVER_WRITE };
	drover_access_t looked = { other_host, BYTES, DROVER_READ };
	drover_stream_counts_t before = counts_of(s);
	struct gate gate = GATE_INIT;

	gate_block(&gate, s);
	MUST(fill_submit(s, other_host, 2, BYTES, NULL));
	MUST(fill_submit(s, a, 2, BYTES, NULL));
	MUST(drover_stream_synchronize_for(s, &mine, 1));
	tap_is(since(s, &before), 1100,
	       "%s: for memory that nothing touches: elided", name);
	gate_open_when_asleep(&gate);
	MUST(drover_stream_synchronize_for(s, &looked, 1));
	gate_was_waited_for(&gate);
	tap_is(since(s, &before), 2101, "%s: for what is written: it waits",
	       name);
	tap_ok(all_are(other_host, 2, BYTES), "%s: and it is written", name);
}

static void test_events(const char *name, drover_stream_t *s, unsigned char *a,
			uint32_t backend)
{
	drover_stream_t t = stream_of(backend, DROVER_ORDER_ENGINE);
	bool defers = backend == DROVER_BACKEND_CPU;
	drover_stream_counts_t before = counts_of(&t);
	struct gate gate = GATE_INIT;
	drover_event_t event;

	gate_submit(&gate, s, a, BYTES);
	MUST(drover_stream_record(s, &event));
	gate_open_when_asleep(&gate);
	MUST(drover_stream_wait_event(&t, &event));
	tap_is(since(&t, &before), defers ? 1010 : 1001,
	       "%s: an event of another stream: %s", name,
	       defers ? "the device waits" : "the host waits");
	MUST(drover_stream_wait_event(&t, &event));
	tap_is(since(&t, &before), defers ? 2110 : 2101,
	       "%s: the same once more: elided", name);
	MUST(add_submit(&t, a, a + BYTES, BYTES, NULL));
	tap_is((long)counts_of(&t).added_device, 0,
	       "%s: and what it orders gets no second wait", name);
	MUST(drover_stream_copy(&t, back, a, BYTES));
	gate_was_waited_for(&gate);
	tap_ok(all_are(back, gate.byte + 3, BYTES), "%s: the right result",
	       name);
	MUST(drover_stream_destroy(&t));
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, 2 * BYTES);
	unsigned char *b = device_memory(&s, BYTES);

	watchdog(name);
	MUST(fill_submit(&s, a + BYTES, 3, BYTES, NULL));
	test_device_only(name, &s, a, b);
	test_host_memory(name, &s, a);
	test_for(name, &s, a);
	test_events(name, &s, a, backend);
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_free(&s, b));
	MUST(drover_stream_destroy(&s));
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
