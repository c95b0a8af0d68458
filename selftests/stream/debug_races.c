// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker of the debug build: every pair that nothing orders is reported,
 * whatever the time between them, with both places; every order that there is
 * keeps it silent.
 */
#include "blocks.h"
#include "tap.h"

#define BYTES	   64
#define NR_RESULTS 14

static unsigned char memory[BYTES], other[BYTES], host[BYTES];
static atomic_bool may_end = true;

enum how {
	NOTHING,
	BY_EVENT,
	BY_TICKET,
	BY_SYNCHRONIZE,
	BY_THIRD,
	BY_TICKET_OF_THIRD,
	BY_TIME,
};

/* Put the second stream behind the first, or not. */
static void order(enum how how, drover_stream_t *a, drover_stream_t *b,
		  drover_stream_t *c, const drover_ticket_t *ticket)
{
	drover_ticket_t third;
	drover_event_t event;

	switch (how) {
	case NOTHING:
		return;
	case BY_EVENT:
		MUST(drover_stream_record(a, &event));
		MUST(drover_stream_wait_event(b, &event));
		return;
	case BY_TICKET:
		MUST(drover_ticket_wait(ticket, CLOCK_MONOTONIC, NULL));
		return;
	case BY_SYNCHRONIZE:
		MUST(drover_stream_synchronize(a));
		return;
	case BY_THIRD:
		MUST(drover_stream_record(a, &event));
		MUST(drover_stream_wait_event(c, &event));
		MUST(fill_submit(c, other, 1, BYTES, NULL));
		MUST(drover_stream_record(c, &event));
		MUST(drover_stream_wait_event(b, &event));
		return;
	case BY_TICKET_OF_THIRD:
		/* The first stream is not done yet when the third waits. */
		MUST(drover_stream_record(a, &event));
		MUST(drover_stream_wait_event(c, &event));
		MUST(fill_submit(c, other, 1, BYTES, &third));
		atomic_store(&may_end, true);
		MUST(drover_ticket_wait(&third, CLOCK_MONOTONIC, NULL));
		return;
	case BY_TIME:
		/* Done, but nobody has asked: a look at the memory is none. */
		while (!__atomic_load_n(&host[0], __ATOMIC_ACQUIRE))
			sched_yield();
		return;
	}
}

static int tell_run(const void *args)
{
	(void)args;
	while (!atomic_load(&may_end))
		sched_yield();
	__atomic_store_n(&host[0], 1, __ATOMIC_RELEASE);
	return 0;
}

static void test_order(const char *name, enum how how, int races_wanted)
{
	const drover_kernel_t tell = { .run = tell_run };
	const drover_access_t write = { memory, BYTES, DROVER_WRITE };
	drover_stream_t a = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_stream_t b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_stream_t c = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_ticket_t ticket;
	int first, second;

	watchdog(name);
	__atomic_store_n(&host[0], 0, __ATOMIC_RELAXED);
	atomic_store(&may_end, how != BY_TICKET_OF_THIRD);
	first = __LINE__ + 1;
	MUST(drover_stream_run(&a, &tell, NULL, 0, &write, 1, &ticket));
	order(how, &a, &b, &c, &ticket);
	second = __LINE__ + 1;
	MUST(drover_stream_run(&b, &tell, NULL, 0, &write, 1, NULL));
	tap_is(races_found(), races_wanted, "%s: races", name);
	if (races_wanted)
		tap_ok(races_name(__FILE__, first) &&
			       races_name(__FILE__, second),
		       "%s: both places are named", name);
	MUST(drover_stream_destroy(&c));
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

/* In one stream a queue orders all, and eager copies nothing. */
static void test_queue(const char *name, uint32_t backend, int races_wanted)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_CALLER);

	watchdog(name);
	if (races_wanted && !RACES_MAY_BE_REAL) {
		tap_skip(name, "ThreadSanitizer sees this race as well");
		return;
	}
	MUST(drover_stream_copy_borrowed(&s, memory, other, BYTES, NULL));
	MUST(drover_stream_copy_borrowed(&s, memory, other, BYTES, NULL));
	tap_is(races_found(), races_wanted, "%s: a copy behind a copy", name);
	MUST(drover_stream_destroy(&s));
}

static void test_harmless(void)
{
	drover_stream_t a = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_stream_t b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);

	watchdog("harmless");
	MUST(drover_stream_copy_borrowed(&a, memory, host, BYTES, NULL));
	MUST(drover_stream_copy_borrowed(&b, other, host, BYTES, NULL));
	tap_is(races_found(), 0, "two that read the same memory");
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

static void test_unknown(void)
{
	const drover_kernel_t tell = { .run = tell_run };
	drover_stream_t a = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);
	drover_stream_t b = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_CALLER);

	watchdog("unknown");
	MUST(drover_stream_run(&a, &tell, NULL, 0, NULL, 0, NULL));
	MUST(fill_submit(&b, other, 1, BYTES, NULL));
	tap_is(races_found(), 1, "one that may touch anything races with all");
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

int main(void)
{
	tap_plan(NR_RESULTS);
	races_watch();
	test_order("nothing", NOTHING, 1);
	test_order("an event", BY_EVENT, 0);
	test_order("a ticket", BY_TICKET, 0);
	test_order("a synchronization", BY_SYNCHRONIZE, 0);
	test_order("an event of a third stream", BY_THIRD, 0);
	test_order("a ticket of a third stream", BY_TICKET_OF_THIRD, 0);
	test_order("time alone", BY_TIME, 1);
	test_queue("cpu", DROVER_BACKEND_CPU, 0);
	test_queue("eager", DROVER_BACKEND_EAGER, 1);
	test_harmless();
	test_unknown();
	/* A call without a place is named by its address. */
	MUST(drover_stream_watch_races(NULL, NULL));
	tap_is(drover_stream_note(NULL, 0), 0, "the host may touch anything");
	return tap_exit();
}
