// SPDX-License-Identifier: GPL-2.0-only
/*
 * A condvar may be destroyed as soon as all its waiters are unblocked, while
 * the mutex is still held too, and its memory be unmapped at once. In attack/
 * every futex call is late: a signaller is still in its call then.
 *
 * APIs: drover pthread attack/destroy_at_once
 */
#include "fixture.h"
#include "run.h"

#ifdef DROVER_FAKE_FUTEX
#include "fake_futex.h"

__attribute__((constructor)) static void be_late(void)
{
	fake_futex_start((struct fake_futex){ .seed = 1, .late = 500 });
}
#endif

#define NR_WAITERS 10

static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static int nr_rounds;

static api_cond_t *cond_map(void)
{
	api_cond_t *cond = map_pages(sizeof(*cond));

	api_cond_init(cond);
	return cond;
}

static void cond_unmap(api_cond_t *cond)
{
	api_cond_destroy(cond);
	munmap(cond, sizeof(*cond));
}

static bool unblock_and_unmap(int nr_waiters, bool by_signal, bool keep)
{
	api_cond_t *cond = cond_map();
	struct fixture fixture = fixture_of(cond, &mutex, nr_waiters);
	bool all;

	fixture_add(&fixture, nr_waiters);
	if (keep)
		api_mutex_lock(&mutex);
	for (int i = 0; by_signal && i < nr_waiters; i++)
		api_cond_signal(cond);
	if (!by_signal)
		api_cond_broadcast(cond);
	cond_unmap(cond);
	if (keep)
		api_mutex_unlock(&mutex);
	fixture_gone(&fixture, nr_waiters);
	all = fixture_results(&fixture, 0) == nr_waiters;
	fixture_end(&fixture);
	return all;
}

/* The condvar of this round, under the mutex; NULL between rounds. */
static api_cond_t *current;
static bool signalled;
static int nr_unmapped;

/* Whom the signal wakes unmaps while the signaller may still be in its call. */
static void *wait_and_unmap(void *arg)
{
	api_mutex_lock(&mutex);
	for (int i = 0; i < nr_rounds; i++) {
		api_cond_t *cond = cond_map();

		current = cond;
		signalled = false;
		while (!signalled)
			api_cond_wait(cond, &mutex);
		current = NULL;
		cond_unmap(cond);
		nr_unmapped++;
	}
	api_mutex_unlock(&mutex);
	return NULL;
}

static bool signal_current(bool broadcast)
{
	api_cond_t *cond;
	bool done;

	api_mutex_lock(&mutex);
	cond = signalled ? NULL : current;
	signalled = true;
	done = nr_unmapped == nr_rounds;
	api_mutex_unlock(&mutex);
	if (!cond)
		sched_yield();
	else if (broadcast)
		api_cond_broadcast(cond);
	else
		api_cond_signal(cond);
	return !done;
}

static void test_by_waiter(const char *policy, bool broadcast)
{
	pthread_t waiter;

	watchdog("destroy by the waiter");
	nr_unmapped = 0;
	start_thread(&waiter, wait_and_unmap, NULL);
	while (signal_current(broadcast))
		;
	pthread_join(waiter, NULL);
	tap_is(nr_unmapped, nr_rounds, "%s: destroyed by whom the %s woke",
	       policy, broadcast ? "broadcast" : "signal");
}

static void test(const char *policy)
{
	for (int how = 0; how < 4; how++) {
		bool by_signal = how & 2, keep = how & 1, all = true;

		watchdog("destroy after broadcasts or signals");
		for (int i = 0; i < nr_rounds / 10; i++)
			all &= unblock_and_unmap(1 + i % NR_WAITERS, by_signal,
						 keep);
		tap_ok(all, "%s: destroyed after %s, mutex %s: all return 0",
		       policy, by_signal ? "signals" : "broadcast",
		       keep ? "held" : "free");
	}
	test_by_waiter(policy, false);
	test_by_waiter(policy, true);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");

	api_start(argv);
	nr_rounds = args_get(&args, "rounds", guest_share(250));
	return policy_main(argv, test);
}
