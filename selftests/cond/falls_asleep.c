// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal or broadcast, stopped after each of its instructions in turn while
 * those who polled for it fall asleep: it has to wake them. And a wait, stopped
 * likewise, while another thread takes the signal that has ended its poll: the
 * next one wakes it.
 *
 * A signal handler keeps the others awake in the midst of their polls.
 *
 *	seed=N	ms=N: for each scenario; 0: each and every instruction
 *
 * APIs: drover pthread
 */
#include "run.h"
#include "fixture.h"
#include "preempt.h"

#define POLL_NS	   (2 * NS_PER_MS)
#define NR_POLLERS 2

static const char *const policy[] = { "auto,spin=2000" };

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static uint64_t seed, ms;
static struct fixture fixture;
static atomic_int nr_held;
static atomic_bool let_go;

/* Until the poll is over, and later. */
static void hold(int signal)
{
	int64_t end = blocked_now_ns() + POLL_NS;

	(void)signal;
	atomic_fetch_add(&nr_held, 1);
	while (!atomic_load(&let_go))
		sched_yield();
	while (blocked_now_ns() < end)
		;
}

static void poll_held(int nr)
{
	fixture = fixture_of(&cond, &mutex, nr);
	atomic_store(&nr_held, 0);
	atomic_store(&let_go, false);
	for (int i = 0; i < nr; i++) {
		struct member *member = fixture_start(&fixture, NULL);

		member_has_joined(member);
		pthread_kill(member->thread, SIGUSR1);
	}
	if (wait_at_least(&nr_held, nr))
		tap_bail("no signal handler ran");
}

static void two_poll(void)
{
	poll_held(NR_POLLERS);
}

static void fall_asleep(void)
{
	int64_t end = blocked_now_ns() + 10 * POLL_NS;

	atomic_store(&let_go, true);
	while (fixture_any_awake(&fixture) && blocked_now_ns() < end)
		sched_yield();
}

static void signal_it(void *unused)
{
	(void)unused;
	api_cond_signal(&cond);
}

static void broadcast_it(void *unused)
{
	(void)unused;
	api_cond_broadcast(&cond);
}

static bool both_return(void)
{
	fixture_gone(&fixture, NR_POLLERS);
	fixture_end(&fixture);
	return true;
}

static bool one_returns_and_then_the_other(void)
{
	bool one;

	fixture_gone(&fixture, 1);
	one = fixture_count(&fixture, AT_COND) == 1;
	api_cond_signal(&cond);
	return both_return() && one;
}

/* Two signals: when the stopped thread has joined, and when it sleeps. */
static pthread_t signaller;
static atomic_bool waits, other_settled;

static void *signal_twice(void *arg)
{
	while (!atomic_load(&waits) || api_mutex_trylock(&mutex))
		sched_yield();
	api_mutex_unlock(&mutex);
	api_cond_signal(&cond);
	while (!atomic_load(&other_settled) ||
	       (!atomic_load(&caller.done) &&
		blocked_in_futex(getpid(), atomic_load(&caller.tid), NULL) !=
			1))
		sched_yield();
	api_cond_signal(&cond);
	return arg;
}

static void one_polls(void)
{
	atomic_store(&waits, false);
	atomic_store(&other_settled, false);
	poll_held(1);
	if (pthread_create(&signaller, NULL, signal_twice, NULL))
		tap_bail("pthread_create");
}

static void wait_once(void *unused)
{
	(void)unused;
	api_mutex_lock(&mutex);
	atomic_store(&waits, true);
	api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
}

static void take_or_sleep(void)
{
	fall_asleep();
	atomic_store(&other_settled, true);
}

static bool it_returns(void)
{
	pthread_join(signaller, NULL);
	fixture_gone(&fixture, 1);
	fixture_end(&fixture);
	return true;
}

static const struct scenario scenarios[] = {
	{ "signal to two that fall asleep: each wakes one", two_poll, signal_it,
	  fall_asleep, one_returns_and_then_the_other },
	{ "broadcast to two that fall asleep: both return", two_poll,
	  broadcast_it, fall_asleep, both_return },
	{ "wait, and another takes the signal: the next wakes it", one_polls,
	  wait_once, take_or_sleep, it_returns },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

static void test(const char *name)
{
	const struct sigaction action = { .sa_handler = hold };

	sigaction(SIGUSR1, &action, NULL);
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < NR_SCENARIOS; i++) {
		if (!PREEMPT_POSSIBLE)
			tap_skip(scenarios[i].name, "no trap flag here");
		else
			tap_ok(everywhere(&scenarios[i], seed, ms), "%s: %s",
			       name, scenarios[i].name);
	}
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed ms");

	api_start(argv);
	seed = args_get(&args, "seed", args_fresh_seed());
	ms = args_get(&args, "ms", 1500);
	return policies_main(argv, (struct policy_list){ policy, 1 },
			     NR_SCENARIOS, test);
}
