// SPDX-License-Identifier: GPL-2.0-only
/*
 * In the child of a fork a private condvar has no waiters and its inner lock is
 * free, whatever the parent's threads were doing; and the parent's waiters go
 * on. In attack/ futex calls are late, and waits end for no reason.
 *
 *	rounds=N	the number of forks of a busy process
 *
 * APIs: drover pthread attack/fork_storm
 */
#include "steps.h"

#ifdef DROVER_FAKE_FUTEX
#include "fake_futex.h"

__attribute__((constructor)) static void be_late(void)
{
	fake_futex_start(
		(struct fake_futex){ .seed = 1, .late = 300, .spurious = 50 });
}
#endif

#define NR_BUSY 3

static int nr_rounds;

STEP_IS(destroy, api_cond_destroy(&cond));

static bool in_child(void);
static const char *child_steps;

STEP(grandchild)
{
	child_steps = "wait 4; each 3 0 = 1; broadcast; gone 4; destroy = 0";
	return child_does(in_child, "the grandchild of a fork");
}

/* child: does what child_steps says */
STEP_IS(child, child_does(in_child, "the child of a fork"));

/* The fixture is the parent's. */
static bool in_child(void)
{
	return scene_holds(child_steps);
}

static const struct work {
	const char *name;
	const char *steps;
	bool starts_threads;
} works[] = {
	{ "signals", "signal", false },
	{ "broadcasts", "broadcast = 0", false },
	{ "destroys", "destroy = 0", false },
	{ "waits until its deadline", "lock; time_out = ETIMEDOUT", false },
	/* A stale waiter would take one of these signals. */
	{ "has waiters and signals of its own",
	  "wait 4; each 3 0 = 1; lock; broadcast; unlock; gone 4; destroy = 0",
	  true },
	{ "forks with waiters of its own", "wait 4; grandchild = 1", true },
};

/* The parent's waiters are of two groups: a signal was posted and taken. */
#define WITH_WAITERS                                              \
	"wait 2; signal; gone 1; wait 2; child = 1; waiting = 3;" \
	"broadcast; gone 4; zeros = 4"

static atomic_bool stop;

/* Signals, broadcasts and waits, so that a fork comes in the midst of calls. */
static void *keep_busy(void *arg)
{
	struct timespec soon;

	while (!stop) {
		soon = deadline_in(CLOCK_MONOTONIC, 20000);
		api_mutex_lock(&mutex);
		api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon);
		api_mutex_unlock(&mutex);
		api_cond_signal(&cond);
		api_cond_broadcast(&cond);
	}
	return arg;
}

/*
 * The mutex may have been held by a thread that is not in the child, so the
 * child makes a new one.
 */
static bool use_all(void)
{
	api_mutex_init(&mutex);
	return steps_do("signal; lock; time_out = ETIMEDOUT; unlock;"
			"broadcast = 0; destroy = 0");
}

/* The same with threads, after a child of the child has used the condvar. */
static bool use_all_twice(void)
{
	api_mutex_init(&mutex);
	return child_does(use_all, "a child of a child") &&
	       (!FORK_THREADS_WORK || scene_holds("wait 2; each 2 0 = 1")) &&
	       use_all();
}

static void test_busy(const char *policy)
{
	pthread_t threads[NR_BUSY];
	int nr_failed = 0;

	stop = false;
	for (int i = 0; i < NR_BUSY; i++)
		start_thread(&threads[i], keep_busy, NULL);
	for (int i = 0; i < nr_rounds; i++) {
		/* A hundred forks may take a minute on a busy machine. */
		watchdog("fork of a busy process");
		nr_failed += !child_does(i % 10 ? use_all : use_all_twice,
					 "a child of a busy parent");
	}
	watchdog("the end of busy threads");
	stop = true;
	for (int i = 0; i < NR_BUSY; i++)
		pthread_join(threads[i], NULL);
	tap_is(nr_failed, 0, "%s: %d forks while threads are in their calls",
	       policy, nr_rounds);
}

static void test(const char *policy)
{
	scene_start(policy, "normal", false);
	for (int i = 0; i < NR_OF(works); i++) {
		child_steps = works[i].steps;
		if (works[i].starts_threads && !CHILDREN_MAY_HAVE_THREADS)
			tap_skip(works[i].name,
				 "ThreadSanitizer allows a child no threads");
		else
			tap_ok(scene_holds(WITH_WAITERS),
			       "%s: with waiters in the parent, a child %s",
			       policy, works[i].name);
	}
	test_busy(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", guest_share(100));
	return policy_main(argv, test);
}
