// SPDX-License-Identifier: GPL-2.0-only
/*
 * With a priority-inheriting mutex the waiter of highest priority returns
 * first, and a thread of middle priority delays no thread of higher priority.
 */
#include "../cond/steps.h"

#define NR_WAITERS 6
#define LOWEST	   10
#define NR_WAITS   200

static void be_real_time(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	MUST(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
}

static int next_priority;

static int wait_with_priority(pthread_cond_t *c, pthread_mutex_t *m)
{
	be_real_time(next_priority);
	return pthread_cond_wait(c, m);
}

/* rt FIRST NR: waiters, each with a higher priority than the one before */
STEP(rt)
{
	for (int i = 0; i < args[1]; i++) {
		next_priority = LOWEST + args[0] + i;
		scene_add(1, &(struct member){ .wait = wait_with_priority },
			  true);
	}
	return 0;
}

/* turn MEMBER: how many members returned before it */
STEP_IS(turn, atomic_load(&fixture.members[args[0]].turn));

/* The member that started last has to return first. */
STEP(highest_first)
{
	for (int i = 0; i < NR_WAITERS; i++)
		if (do_turn((long[]){ i }) != NR_WAITERS - 1 - i)
			return 0;
	return 1;
}

/*
 * A waiter that comes after a signal was taken is chosen by its priority,
 * though others have waited longer. Requeue-PI is needed for that, because
 * there the kernel gives a signal to a thread. Without it, a thread that comes
 * after a signal could steal the signal, and so has to stand back.
 */
static const struct scene with_requeue[] = {
	{ "a broadcast, mutex held: highest priority first",
	  "rt 0 6; lock; broadcast; unlock; gone 6; highest_first = 1" },
	{ "a broadcast, mutex free: highest priority first",
	  "rt 0 6; broadcast; gone 6; highest_first = 1" },
	{ "a latecomer of high priority is chosen next",
	  "rt 0 6; signal; gone 1; rt 5; signal; gone 2; turn 6 = 1" },
};

/* A thread of middle priority, which keeps its CPU until it is told to stop. */
static atomic_bool hog_stop;

static void *hog_main(void *arg)
{
	be_real_time(LOWEST + NR_WAITERS);
	while (!hog_stop)
		;
	return NULL;
}

static void *low_main(void *arg)
{
	atomic_bool *enough = arg;

	be_real_time(LOWEST);
	while (!*enough) {
		pthread_cond_signal(&cond);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

/*
 * All three threads are on one CPU. The low one keeps using the condvar and its
 * mutex, the middle one spins, and the high one waits with a deadline again and
 * again. The high thread can only be delayed by a lock that the low one holds,
 * and the middle one must not prolong that. If it did, neither low nor high
 * would run again, and the watchdog would end the program.
 */
static void test_no_inversion(void)
{
	const int high = LOWEST + NR_WAITERS + 10;
	pthread_t low, hog;
	atomic_bool enough = false;
	cpu_set_t before = to_one_cpu();
	int ended = 0;

	watchdog("a hog of middle priority");
	be_real_time(high);
	hog_stop = false;
	start_thread(&low, low_main, &enough);
	start_thread(&hog, hog_main, NULL);

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < NR_WAITS; i++) {
		struct timespec deadline =
			deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
		int err = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
						 &deadline);

		ended += err == 0 || err == ETIMEDOUT;
	}
	pthread_mutex_unlock(&mutex);
	hog_stop = true;
	enough = true;
	pthread_join(hog, NULL);
	pthread_join(low, NULL);
	be_real_time(LOWEST);
	sched_setaffinity(0, sizeof(before), &before);
	tap_is(ended, NR_WAITS,
	       "a hog of middle priority delays no thread of higher priority");
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!fifo_permitted())
		return tap_skipped("priorities", "SCHED_FIFO is not permitted");
	tap_plan(5);
	scene_start("", "PI", false);
	tap_ok(scene_holds("rt 0 6; each 6 0 = 1; highest_first = 1"),
	       "PI: signals unblock the highest priority first");
	if (variant_is("none")) {
		tap_ok(scene_holds("rt 0 6; signal; gone 1; rt 5; signal;"
				   "gone 2; turn 4 = 1"),
		       "without requeue-PI, an earlier waiter is chosen");
		tap_skip_all(2, "the order of a broadcast",
			     "without requeue-PI all are woken");
	} else {
		scenes_test("PI", with_requeue, 3);
	}
	test_no_inversion();
	return tap_exit();
}
