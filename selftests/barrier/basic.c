// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the calls of drover_barrier_t answer, right and wrong: with a deadline,
 * while another thread sleeps, and for barriers that are there from the start.
 */
#include <drover/barrier.h>
#include <errno.h>

#include "blocked.h"

#define SERIAL DROVER_BARRIER_SERIAL

static drover_barrier_t barrier, *const b = &barrier;

static void fresh(unsigned int count)
{
	MUST(drover_barrier_init(b, count, NULL));
}

static void test_init(void)
{
	drover_barrierattr_t bad[] = {
		{ .flags = 0x2 },
		{ .flags = 1u << 31 },
		{ .reserved = { 1 } },
		{ .flags = DROVER_BARRIER_SHARED,
		  .completion = (void (*)(void *))free },
	};
	int refused = 0;

	IS(EINVAL, drover_barrier_init(b, 0, NULL));
	IS(EINVAL, drover_barrier_init(b, DROVER_BARRIER_MAX + 1, NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused += drover_barrier_init(b, 1, &bad[i]) == EINVAL;
	tap_is(refused, sizeof(bad) / sizeof(bad[0]), "init: bad attributes");
	IS(0, drover_barrier_init(b, DROVER_BARRIER_MAX, NULL));
	tap_is(drover_barrier_destroy(b), 0, "destroy, never used");
}

/* Memory that is all zero, or was a barrier once, is no barrier. */
static void test_none(drover_barrier_t *none)
{
	drover_phase_t phase = 4711;

	IS(EINVAL, drover_barrier_wait(none));
	IS(EINVAL, drover_barrier_arrive(none, 1, &phase));
	IS(EINVAL, drover_barrier_arrive_and_drop(none));
	IS(EINVAL, drover_barrier_set_count(none, 1));
	IS(EINVAL, drover_barrier_destroy(none));
	tap_is(phase, 4711, "no phase was stored");
}

static void test_alone(void)
{
	drover_phase_t phase;
	int serial = 0;

	fresh(1);
	for (int i = 0; i < 1000; i++)
		serial += drover_barrier_wait(b) == SERIAL;
	tap_is(serial, 1000, "count 1: each wait is the serial one");
	IS(SERIAL, drover_barrier_arrive(b, 1, &phase));
	IS(0, drover_barrier_wait_for(b, phase));
	IS(SERIAL, drover_barrier_arrive_and_drop(b));
	tap_is(drover_barrier_wait(b), EINVAL, "wait: all have dropped out");
	IS(EINVAL, drover_barrier_arrive(b, 1, NULL));
	IS(0, drover_barrier_destroy(b));
}

static void test_split(void)
{
	drover_phase_t first, second;

	fresh(3);
	IS(EINVAL, drover_barrier_arrive(b, 0, &first));
	IS(EOVERFLOW, drover_barrier_arrive(b, 4, &first));
	IS(0, drover_barrier_arrive(b, 2, &first));
	IS(EOVERFLOW, drover_barrier_arrive(b, 2, &second));
	tap_is(drover_barrier_destroy(b), EBUSY, "destroy, in use");
	tap_is(drover_barrier_set_count(b, 2), EBUSY, "set_count, in use");
	tap_is(drover_barrier_arrive(b, 1, NULL), SERIAL, "the third one");
	IS(0, drover_barrier_wait_for(b, first));
	tap_is(drover_barrier_arrive(b, 3, &second), SERIAL, "all at once");
	IS(0, drover_barrier_forget(b, second));
	IS(0, drover_barrier_destroy(b));
}

static void test_counts(void)
{
	drover_phase_t phase;

	fresh(2);
	IS(EINVAL, drover_barrier_set_count(b, 0));
	IS(0, drover_barrier_set_count(b, 1));
	tap_is(drover_barrier_wait(b), SERIAL, "wait, alone");
	IS(0, drover_barrier_set_count(b, 3));
	drover_barrier_arrive(b, 2, NULL);
	tap_is(drover_barrier_arrive_and_drop(b), SERIAL,
	       "the third drops out");
	drover_barrier_arrive(b, 1, &phase);
	tap_is(drover_barrier_arrive_and_drop(b), SERIAL,
	       "the phase has two now, and one of them drops out");
	drover_barrier_wait_for(b, phase);
	tap_is(drover_barrier_wait(b), SERIAL, "the last one is alone");
	tap_is(drover_barrier_set_count(b, 2), 0, "set_count counts anew");
	tap_is(drover_barrier_arrive(b, 1, NULL), 0, "so one is not all");
	tap_is(drover_barrier_wait(b), SERIAL, "but two are");
	IS(0, drover_barrier_destroy(b));
}

static void count_up(void *nr)
{
	++*(int *)nr;
}

static void test_completion(void)
{
	int nr = 0;
	drover_barrierattr_t attr = { .completion = count_up, .arg = &nr };

	drover_barrier_init(b, 2, &attr);
	drover_barrier_arrive(b, 1, NULL);
	tap_is(nr, 0, "completion: not before all have come");
	drover_barrier_arrive(b, 1, NULL);
	tap_is(nr, 1, "completion: once a phase");
	drover_barrier_set_count(b, 1);
	drover_barrier_wait(b);
	tap_is(nr, 2, "completion: of one thread alone");
	drover_barrier_destroy(b);
}

static void *wait_twice(void *at)
{
	drover_barrier_wait(at);
	drover_barrier_wait(at);
	return NULL;
}

/* The barrier lies wherever malloc() or a packed structure puts it. */
static void test_anywhere(void)
{
	static char memory[sizeof(drover_barrier_t) + 64]
		__attribute__((aligned(64)));
	bool kept = true;

	for (int at = 0; at < 64; at += 8) {
		drover_barrier_t *here = (drover_barrier_t *)(memory + at);
		pthread_t thread;

		memset(memory, 0x5a, sizeof(memory));
		drover_barrier_init(here, 2, NULL);
		thread = thread_of(wait_twice, here);
		wait_twice(here);
		joined(thread);
		drover_barrier_destroy(here);
		for (int i = 0; i < (int)sizeof(memory); i++)
			if (i < at || i >= at + (int)sizeof(*here))
				kept &= memory[i] == 0x5a;
	}
	tap_ok(kept, "writes into its own memory only, wherever that is");
}

/* A phase with a deadline, and one that is asked after. */
static void test_deadline(clockid_t clock)
{
	struct timespec past = { 0, 0 }, bad = { 0, NS_PER_S };
	struct timespec soon = deadline_in(clock, 2 * NS_PER_MS);
	drover_barrier_t ready = DROVER_BARRIER_INITIALIZER(3);
	drover_phase_t phase;

	drover_barrier_arrive(&ready, 1, &phase);
	IS(ETIMEDOUT, drover_barrier_wait_until(&ready, phase, clock, &past));
	IS(ETIMEDOUT, drover_barrier_wait_until(&ready, phase, clock, &soon));
	IS(EINVAL, drover_barrier_wait_until(&ready, phase, clock, &bad));
	IS(EINVAL, drover_barrier_wait_until(&ready, phase, 4711, &soon));
	IS(EINPROGRESS, drover_barrier_test(&ready, phase));
	drover_barrier_arrive(&ready, 2, NULL);
	tap_is(drover_barrier_wait_until(&ready, phase, clock, &past), 0,
	       "complete, though the time is over");
	drover_barrier_arrive(&ready, 1, &phase);
	drover_barrier_arrive(&ready, 2, NULL);
	tap_is(drover_barrier_test(&ready, phase), 0, "test: complete");
	tap_is(drover_barrier_destroy(&ready), 0, "no phase is left");
}

/* ---- another thread sleeps ---- */

static atomic_int tid;

static void *wait_once(void *ret)
{
	tid = blocked_gettid();
	*(int *)ret = drover_barrier_wait(b);
	return NULL;
}

static pthread_t sleeper(int *ret)
{
	pthread_t thread;

	tid = 0;
	thread = thread_of(wait_once, ret);
	reached(&tid, 1);
	asleep(tid);
	return thread;
}

static int wait_too(void)
{
	return drover_barrier_wait(b);
}

static int arrive(void)
{
	return drover_barrier_arrive(b, 1, NULL);
}

static int drop(void)
{
	return drover_barrier_arrive_and_drop(b);
}

static int wait_for_three(void)
{
	int its, ret;
	pthread_t second = sleeper(&its);

	ret = drover_barrier_wait(b);
	joined(second);
	return ret;
}

/* What is refused changes nothing for the sleeper. */
static int be_refused(void)
{
	drover_phase_t phase;

	tap_is(drover_barrier_destroy(b), EBUSY, "a sleeper: destroy");
	tap_is(drover_barrier_set_count(b, 3), EBUSY, "a sleeper: set_count");
	tap_is(drover_barrier_arrive(b, 2, &phase), EOVERFLOW,
	       "a sleeper: two more of two");
	tap_is(drover_barrier_destroy(b), EBUSY, "a sleeper: destroy again");
	return arrive();
}

/*
 * One of two sleeps, and the other one does something else, which completes the
 * phase. Nobody is left behind, and nobody gets through early.
 */
static void test_sleepers(uint32_t spin_us)
{
	const drover_barrierattr_t attr = { .spin_us = spin_us };
	static const struct {
		unsigned int count; /* 0: as it is */
		int (*other)(void);
		const char *what;
	} all[] = {
		{ 3, wait_for_three, "a pair no more, but three" },
		{ 2, wait_too, "a sleeper, and one that waits" },
		{ 0, arrive, "and one that arrives" },
		{ 0, arrive, "and once more" },
		{ 2, be_refused, "and one that is refused first" },
		{ 2, drop, "and one that drops out" },
		{ 2, wait_too, "and are a pair again" },
	};
	int ret;

	MUST(drover_barrier_init(b, 2, &attr));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		pthread_t thread;

		watchdog(all[i].what);
		if (all[i].count)
			drover_barrier_set_count(b, all[i].count);
		thread = sleeper(&ret);
		tap_is(all[i].other(), SERIAL, "%s: complete", all[i].what);
		joined(thread);
		tap_is(ret, 0, "%s: the sleeper is back", all[i].what);
		if (all[i].other == drop)
			tap_is(drover_barrier_wait(b), SERIAL, "and is alone");
	}
	IS(0, drover_barrier_destroy(b));
}

int main(void)
{
	static drover_barrier_t zero;

	watchdog("barrier");
	tap_plan(5 + 12 + 7 + 11 + 11 + 3 + 1 + 16 + 2 * 20 + 1);
	test_init();
	test_none(&zero);
	test_alone();
	test_none(b);
	test_split();
	test_counts();
	test_completion();
	test_anywhere();
	test_deadline(CLOCK_MONOTONIC);
	test_deadline(CLOCK_REALTIME);
	test_sleepers(0);
	test_sleepers(DROVER_BARRIER_NO_SPIN);
	errno = 4711;
	fresh(1);
	wait_twice(b);
	drover_barrier_set_count(b, 5);
	drover_barrier_arrive(b, 9, NULL);
	drover_barrier_destroy(b);
	tap_is(errno, 4711, "errno is left alone");
	return tap_exit();
}
