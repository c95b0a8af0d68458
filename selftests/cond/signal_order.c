// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that begins to wait after a signal does not take it from those who
 * waited before (POSIX.1-2024; sourceware bug 13165).
 *
 * APIs: drover pthread
 */
#include "steps.h"

static int nr_rounds;

/* All who waited are held off; the signal that comes now is for one of them. */
static const struct scene scenes[] = {
	{ "a newcomer leaves the signal to two who waited",
	  "wait 2; off 0 1; signal; join; sleeps 2 = 1; on; gone 1;"
	  "returned = 1; sleeps 2 = 1" },
	/* There is no second to whom the signal might go. */
	{ "a newcomer leaves the signal to one who waited",
	  "wait; off 0 0; signal; join; sleeps 1 = 1; on; gone 1; returned = 1;"
	  "sleeps 1 = 1" },
	{ "three signals go to the three who waited first",
	  "wait 3; off 0 2; signal; wait; signal 2; on; gone 3; returned = 3;"
	  "sleeps 3 = 1" },
	/* What is remembered of the used-up must not let newcomers in. */
	{ "the same after a timeout has used up their elders",
	  "wait; timed; sleeps 1; signal; in_time; times_out 1; gone 2; wait 2;"
	  "off 2 3; signal; join; sleeps 4 = 1; on; gone 3; returned = 3;"
	  "sleeps 4 = 1" },
};

/*
 * Of those who wait with a mutex that inherits priorities the kernel chooses, so
 * a newcomer joins them; but not while one of them is on its way.
 */
static const struct scene with_pi[] = {
	{ "a newcomer leaves it the signal, PI",
	  "wait 2; lock; signal; time_out = ETIMEDOUT; unlock" },
};

/*
 * Waits are numbered and signals sent under the mutex, so who returns must
 * have a number that existed when the last signal was sent.
 */
static struct {
	api_mutex_t lock;
	unsigned long nr_waits;	  /* waits begun */
	unsigned long nr_signals; /* signals sent */
	unsigned long nr_returns; /* waits that returned */
	unsigned long newest;	  /* nr_waits at the last signal */
	unsigned long nr_stolen;
	unsigned long goal;
} race = { .lock = API_MUTEX_INITIALIZER };

static void *wait_in_order(void *arg)
{
	api_mutex_lock(&race.lock);
	while (race.nr_waits < race.goal) {
		unsigned long number = ++race.nr_waits;

		api_cond_wait(&cond, &race.lock);
		race.nr_returns++;
		race.nr_stolen += number > race.newest;
	}
	api_mutex_unlock(&race.lock);
	return arg;
}

/* One more signal, if somebody waits whom no signal was sent for. */
static bool signal_in_order(void)
{
	bool done, none_waits;

	api_mutex_lock(&race.lock);
	done = race.nr_returns == race.nr_waits && race.nr_waits >= race.goal;
	none_waits = race.nr_signals == race.nr_waits;
	if (!none_waits) {
		race.nr_signals++;
		race.newest = race.nr_waits;
		api_cond_signal(&cond);
	}
	api_mutex_unlock(&race.lock);
	if (none_waits)
		sched_yield();
	return !done;
}

static void test_race(const char *policy)
{
	pthread_t threads[4];

	watchdog("signals in order");
	race.goal = nr_rounds;
	for (int i = 0; i < 4; i++)
		start_thread(&threads[i], wait_in_order, NULL);
	while (signal_in_order())
		;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tap_ok(!race.nr_stolen && race.nr_signals == race.nr_returns,
	       "%s: %d signals, none taken by a later waiter", policy,
	       nr_rounds);
}

static void test(const char *policy)
{
	scene_start(policy, "PI", false);
	scenes_test(policy, with_pi, 1);
	scene_start(policy, "normal", false);
	if (HANDLERS_ARE_PROMPT)
		scenes_test(policy, scenes, NR_OF(scenes));
	else
		tap_skip_all(NR_OF(scenes), policy, "handlers are late");
	test_race(policy);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", 5000);
	return policy_main(argv, test);
}
