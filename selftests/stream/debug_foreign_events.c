// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of other streams, of other backends, of streams that are gone, and of
 * none at all. The caller orders, so nothing else does.
 */
#include "blocks.h"

#define BYTES 128

static unsigned char memory[BYTES];

static void test_pair(const char *name, uint32_t one, uint32_t two)
{
	drover_stream_t a = stream_of(one, DROVER_ORDER_CALLER);
	drover_stream_t b = stream_of(two, DROVER_ORDER_CALLER);
	bool host_waits = two == DROVER_BACKEND_EAGER;
	struct gate gate = GATE_INIT;
	drover_event_t event;

	watchdog(name);
	gate_submit(&gate, &a, memory, BYTES);
	MUST(drover_stream_record(&a, &event));
	if (host_waits)
		gate_open_when_asleep(&gate);
	MUST(drover_stream_wait_event(&b, &event));
	MUST(fill_submit(&b, memory, 0x21, BYTES, NULL));
	if (host_waits)
		gate_was_waited_for(&gate);
	else
		gate_open(&gate);
	MUST(drover_stream_synchronize(&b));
	tap_ok(all_are(memory, 0x21, BYTES), "%s: in order", name);
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

static void test_no_event(void)
{
	drover_stream_t a = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	drover_stream_t b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	drover_event_t none = { 0 }, of_b, odd;

	watchdog("no event");
	tap_is(drover_stream_wait_event(&a, &none), 0,
	       "an event that was never recorded");
	MUST(fill_submit(&b, memory, 1, BYTES, NULL));
	MUST(drover_stream_record(&b, &of_b));
	MUST(drover_stream_destroy(&b));
	tap_is(drover_stream_wait_event(&a, &of_b), 0,
	       "an event of a stream that is gone");
	/* The slot has another stream now, whose numbers go on. */
	b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	tap_is(drover_stream_wait_event(&a, &of_b), 0,
	       "also when another has taken its place");
	memset(&odd, 0xff, sizeof(odd));
	tap_is(drover_stream_wait_event(&a, &odd), 0,
	       "an event that is nonsense");
	MUST(drover_stream_record(&a, &of_b));
	tap_is(drover_stream_wait_event(&a, &of_b), 0,
	       "an event of the stream itself");
	tap_is((long)counts_of(&a).elided, 5, "none of them was waited for");
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

/* The wait is put off, and what it is for fails before anybody waits. */
static void test_failed_meanwhile(void)
{
	drover_stream_t a = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_stream_t b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	struct gate gate = GATE_INIT;
	drover_ticket_t failed;
	drover_event_t event;

	watchdog("failed meanwhile");
	gate_block(&gate, &a);
	MUST(fail_submit(&a, ENOSPC, memory, BYTES, &failed));
	MUST(drover_stream_record(&a, &event));
	MUST(drover_stream_wait_event(&b, &event));
	gate_open(&gate);
	tap_is(drover_ticket_wait(&failed, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "an event is behind what fails later");
	tap_is(fill_submit(&b, memory, 1, BYTES, NULL), ENOSPC,
	       "who was told to wait for it does not go on");
	tap_is(drover_stream_destroy(&b), ENOSPC, "and ends with the error");
	tap_is(drover_stream_destroy(&a), ENOSPC, "as the event's stream does");
}

int main(void)
{
	tap_plan(14);
	test_pair("cpu and cpu", DROVER_BACKEND_CPU, DROVER_BACKEND_CPU);
	test_pair("cpu and eager", DROVER_BACKEND_CPU, DROVER_BACKEND_EAGER);
	test_pair("eager and cpu", DROVER_BACKEND_EAGER, DROVER_BACKEND_CPU);
	test_pair("eager and eager", DROVER_BACKEND_EAGER,
		  DROVER_BACKEND_EAGER);
	test_no_event();
	test_failed_meanwhile();
	return tap_exit();
}
