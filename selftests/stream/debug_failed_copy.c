// SPDX-License-Identifier: GPL-2.0-only
/*
 * A copy, or a kernel, fails in the middle: its ticket, its stream, all that comes later and
 * all that needs its result have the error, whatever is in front of it has not,
 * and nothing hangs.
 */
#include "blocks.h"

#define BYTES	   64
#define NR_RESULTS 17

static unsigned char host[BYTES], back[BYTES];

static void test_stream(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_stream_t t = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, BYTES);
	unsigned char *b = device_memory(&s, BYTES);
	drover_ticket_t before, failed, after;
	struct gate gate = GATE_INIT;
	drover_event_t event;

	MUST(fill_submit(&s, a, 1, BYTES, NULL));
	MUST(fill_submit(&s, b, 1, BYTES, NULL));
	MUST(drover_stream_drain(&s));
	gate_submit(&gate, &s, host, BYTES);
	atomic_store(&eager_plants.fail_copy, 2);
	MUST(fill_submit(&s, back, 2, BYTES, &before));
	/* Eager ones wait for the gate: it must not be closed. */
	gate_open(&gate);
	MUST(drover_stream_synchronize(&s));
	MUST(drover_stream_copy_borrowed(&s, b, back, BYTES, NULL));
	MUST(backend == DROVER_BACKEND_EAGER ?
		     drover_stream_copy_borrowed(&s, a, b, BYTES, &failed) :
		     fail_submit(&s, EIO, a, BYTES, &failed));
	tap_is(drover_ticket_wait(&failed, CLOCK_MONOTONIC, NULL), EIO,
	       "%s: the copy's ticket", name);
	tap_is(drover_ticket_done(&failed), EIO, "%s: also when asked later",
	       name);
	tap_is(drover_ticket_done(&before), 0, "%s: what was before it is fine",
	       name);
	tap_is(drover_stream_synchronize(&s), EIO, "%s: the stream", name);
	tap_is(fill_submit(&s, back, 3, BYTES, &after), EIO,
	       "%s: a later kernel", name);
	tap_is(drover_stream_copy(&s, back, b, BYTES), EIO, "%s: a later copy",
	       name);
	tap_is(drover_stream_host_call(&s, (int (*)(void *))fail_run, NULL,
				       NULL, 0, NULL),
	       EIO, "%s: a later host call", name);
	MUST(drover_stream_record(&s, &event));
	tap_is(add_submit(&t, b, a, BYTES, NULL), EIO,
	       "%s: another stream that reads what was not written", name);
	tap_is(drover_stream_copy(&t, back, b, BYTES), 0,
	       "%s: but not one that reads something else", name);
	tap_is(drover_stream_wait_event(&t, &event), EIO,
	       "%s: a wait for an event behind it", name);
	tap_is(drover_stream_drain(&t), EIO, "%s: and then that stream", name);
	tap_is(drover_stream_free(&s, a), 0, "%s: memory can be freed", name);
	tap_is(drover_stream_destroy(&s), EIO,
	       "%s: the end of the stream says it once more", name);
	tap_is(drover_stream_destroy(&t), EIO, "%s: and the other's", name);
	s = stream_of(backend, DROVER_ORDER_ENGINE);
	MUST(drover_stream_free(&s, b));
	tap_is(drover_stream_destroy(&s), 0, "%s: a new stream is sound", name);
}

/* Many are under way when one of them fails: none is left behind. */
static void test_under_way(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, BYTES);
	struct gate gate = GATE_INIT;
	drover_ticket_t tickets[20];
	bool right = true;

	gate_block(&gate, &s);
	for (int i = 0; i < 20; i++)
		MUST(i == 10 ? fail_submit(&s, ENOSPC, a, BYTES, &tickets[i]) :
			       fill_submit(&s, a, i, BYTES, &tickets[i]));
	gate_open(&gate);
	for (int i = 19; i >= 0; i--)
		right &= drover_ticket_wait(&tickets[i], CLOCK_MONOTONIC,
					    NULL) == (i < 10 ? 0 : ENOSPC);
	tap_ok(right, "%s: 20 under way, the error from the 11th on", name);
	tap_ok(all_are(a, 9, BYTES), "%s: those behind it were not run", name);
	MUST(drover_stream_free(&s, a));
	if (drover_stream_destroy(&s) != ENOSPC)
		tap_bail("the stream has lost its error");
}

static void test(const char *name, uint32_t backend)
{
	watchdog(name);
	test_stream(name, backend);
	test_under_way(name, backend);
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
