// SPDX-License-Identifier: GPL-2.0-only
/* What the calls of drover_barrier_t answer, right and wrong. */
#include <drover/barrier.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tap.h"

static drover_barrier_t barrier;

static drover_barrier_t *fresh(unsigned int count)
{
	if (drover_barrier_init(&barrier, count, NULL))
		tap_bail("init with %u", count);
	return &barrier;
}

static void test_init(void)
{
	drover_barrier_t b;
	drover_barrierattr_t bad[] = {
		{ .flags = 0x2 },
		{ .flags = 1u << 31 },
		{ .reserved = 1 },
		{ .flags = DROVER_BARRIER_SHARED,
		  .completion = (void (*)(void *))free },
	};
	int refused = 0;

	tap_is(drover_barrier_init(&b, 0, NULL), EINVAL, "init: a count of 0");
	tap_is(drover_barrier_init(&b, DROVER_BARRIER_MAX + 1, NULL), EINVAL,
	       "init: too large a count");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused += drover_barrier_init(&b, 1, &bad[i]) == EINVAL;
	tap_is(refused, sizeof(bad) / sizeof(bad[0]), "init: bad attributes");
	tap_is(drover_barrier_init(&b, DROVER_BARRIER_MAX, NULL), 0,
	       "init: the largest count");
	tap_is(drover_barrier_destroy(&b), 0, "destroy, never used");
}

/* Memory that is all zero, or was a barrier once, is no barrier. */
static void test_none(const char *what, drover_barrier_t *b)
{
	drover_phase_t phase = 4711;

	tap_is(drover_barrier_wait(b), EINVAL, "%s: wait", what);
	tap_is(drover_barrier_arrive(b, 1, &phase), EINVAL, "%s: arrive", what);
	tap_is(drover_barrier_arrive_and_drop(b), EINVAL, "%s: drop", what);
	tap_is(drover_barrier_set_count(b, 1), EINVAL, "%s: set_count", what);
	tap_is(drover_barrier_destroy(b), EINVAL, "%s: destroy", what);
	tap_is(phase, 4711, "%s: no phase was stored", what);
}

static void test_alone(void)
{
	drover_barrier_t *b = fresh(1);
	drover_phase_t phase;
	int serial = 0;

	for (int i = 0; i < 1000; i++)
		serial += drover_barrier_wait(b) == DROVER_BARRIER_SERIAL;
	tap_is(serial, 1000, "count 1: each wait is the serial one");
	tap_is(drover_barrier_arrive(b, 1, &phase), DROVER_BARRIER_SERIAL,
	       "count 1: arrive");
	tap_is(drover_barrier_wait_for(b, phase), 0, "count 1: wait_for");
	tap_is(drover_barrier_arrive_and_drop(b), DROVER_BARRIER_SERIAL,
	       "count 1: drop");
	tap_is(drover_barrier_wait(b), EINVAL, "all have dropped out: wait");
	tap_is(drover_barrier_arrive(b, 1, NULL), EINVAL,
	       "all have dropped out: arrive");
	tap_is(drover_barrier_destroy(b), 0, "all have dropped out: destroy");
}

static void test_split(void)
{
	drover_barrier_t *b = fresh(3);
	drover_phase_t first, second;

	tap_is(drover_barrier_arrive(b, 0, &first), EINVAL, "arrive 0 times");
	tap_is(drover_barrier_arrive(b, 4, &first), EOVERFLOW,
	       "arrive 4 times of 3");
	tap_is(drover_barrier_arrive(b, 2, &first), 0, "arrive twice of 3");
	tap_is(drover_barrier_arrive(b, 2, &second), EOVERFLOW,
	       "two more than there are to come");
	tap_is(drover_barrier_destroy(b), EBUSY, "destroy in use");
	tap_is(drover_barrier_set_count(b, 2), EBUSY, "set_count in use");
	tap_is(drover_barrier_arrive(b, 1, NULL), DROVER_BARRIER_SERIAL,
	       "the third completes the phase");
	tap_is(drover_barrier_wait_for(b, first), 0, "and it is over");
	tap_is(drover_barrier_arrive(b, 3, &second), DROVER_BARRIER_SERIAL,
	       "all of a phase at once");
	tap_is(drover_barrier_forget(b, second), 0, "forget");
	tap_is(drover_barrier_destroy(b), 0, "destroy");
}

static void test_counts(void)
{
	drover_barrier_t *b = fresh(2);
	drover_phase_t phase;

	tap_is(drover_barrier_set_count(b, 0), EINVAL, "set_count 0");
	tap_is(drover_barrier_set_count(b, 1), 0, "set_count 1");
	tap_is(drover_barrier_wait(b), DROVER_BARRIER_SERIAL, "wait, alone");
	tap_is(drover_barrier_set_count(b, 3), 0, "set_count 3");
	drover_barrier_arrive(b, 2, NULL);
	tap_is(drover_barrier_arrive_and_drop(b), DROVER_BARRIER_SERIAL,
	       "the third drops out");
	drover_barrier_arrive(b, 1, &phase);
	tap_is(drover_barrier_arrive_and_drop(b), DROVER_BARRIER_SERIAL,
	       "the phase has two now, and one of them drops out");
	drover_barrier_wait_for(b, phase);
	tap_is(drover_barrier_wait(b), DROVER_BARRIER_SERIAL,
	       "the last one is alone");
	tap_is(drover_barrier_set_count(b, 2), 0, "set_count counts anew");
	tap_is(drover_barrier_arrive(b, 1, NULL), 0, "so one is not all");
	tap_is(drover_barrier_wait(b), DROVER_BARRIER_SERIAL, "but two are");
	tap_is(drover_barrier_destroy(b), 0, "destroy");
}

static void count_up(void *arg)
{
	++*(int *)arg;
}

static void test_completion(void)
{
	int nr = 0;
	drover_barrierattr_t attr = { .completion = count_up, .arg = &nr };
	drover_barrier_t b;

	drover_barrier_init(&b, 2, &attr);
	drover_barrier_arrive(&b, 1, NULL);
	tap_is(nr, 0, "completion: not before all have come");
	drover_barrier_arrive(&b, 1, NULL);
	tap_is(nr, 1, "completion: once a phase");
	drover_barrier_set_count(&b, 1);
	drover_barrier_wait(&b);
	tap_is(nr, 2, "completion: of one thread alone");
	drover_barrier_destroy(&b);
}

static void *arrive_twice(void *arg)
{
	drover_barrier_wait(arg);
	drover_barrier_wait(arg);
	return NULL;
}

/* The barrier lies wherever malloc() or a packed structure puts it. */
static void test_anywhere(void)
{
	static char memory[sizeof(drover_barrier_t) + 64]
		__attribute__((aligned(64)));
	bool kept = true;

	for (int at = 0; at < 64; at += 8) {
		drover_barrier_t *b = (drover_barrier_t *)(memory + at);
		pthread_t thread;

		memset(memory, 0x5a, sizeof(memory));
		drover_barrier_init(b, 2, NULL);
		if (pthread_create(&thread, NULL, arrive_twice, b))
			tap_bail("no thread");
		drover_barrier_wait(b);
		drover_barrier_wait(b);
		pthread_join(thread, NULL);
		drover_barrier_destroy(b);
		for (int i = 0; i < (int)sizeof(memory); i++)
			if (i < at || i >= at + (int)sizeof(*b))
				kept &= memory[i] == 0x5a;
	}
	tap_ok(kept, "writes into its own memory only, wherever that is");
}

int main(void)
{
	static drover_barrier_t zero;

	watchdog("barrier");
	tap_plan(5 + 12 + 7 + 11 + 11 + 3 + 2);
	test_init();
	test_none("all zero", &zero);
	test_alone();
	test_none("destroyed", &barrier);
	test_split();
	test_counts();
	test_completion();
	test_anywhere();
	errno = 4711;
	arrive_twice(fresh(1));
	drover_barrier_set_count(&barrier, 5);
	drover_barrier_arrive(&barrier, 9, NULL);
	drover_barrier_destroy(&barrier);
	tap_is(errno, 4711, "errno is left alone");
	return tap_exit();
}
