// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two calls at the same time, the first stopped after each of its instructions
 * in turn while the second runs: no wakeup is lost, none is taken twice, and
 * nothing is touched that is gone.
 *
 * APIs: drover pthread
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "run.h"
#include "fixture.h"
#include "blocked.h"
#include "preempt.h"

#define NR_WAITERS 3

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct fixture fixture;

static void signal_it(void *arg)
{
	(void)arg;
	api_cond_signal(&cond);
}

static void broadcast_it(void *arg)
{
	(void)arg;
	api_cond_broadcast(&cond);
}

static void signal_held(void *arg)
{
	api_mutex_lock(&mutex);
	signal_it(arg);
	api_mutex_unlock(&mutex);
}

static void broadcast_held(void *arg)
{
	api_mutex_lock(&mutex);
	broadcast_it(arg);
	api_mutex_unlock(&mutex);
}

static void other_signals(void)
{
	signal_it(NULL);
}

static void other_broadcasts(void)
{
	broadcast_it(NULL);
}

static void two_wait(void)
{
	fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	fixture_add(&fixture, 2);
}

static bool all_return(void)
{
	return fixture_all(&fixture);
}

/* Of two groups. */
static void three_wait(void)
{
	fixture = fixture_of(&cond, &mutex, NR_WAITERS + 1);
	fixture_add_two(&fixture, 2, 2);
}

/* One without a deadline, one whose time runs out about now. */
static struct timespec soon;

static void one_waits_shortly(void)
{
	const struct member how = {
		.deadline = &soon,
		.clock = CLOCK_MONOTONIC,
	};

	fixture = fixture_of(&cond, &mutex, 2);
	fixture_wait(&fixture);
	soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	member_has_joined(fixture_start(&fixture, &how));
}

/* Give it time to act on its timeout, if it can. */
static void time_passes(void)
{
	int64_t end = blocked_now_ns() + 20 * NS_PER_MS;

	while (!deadline_passed(CLOCK_MONOTONIC, &soon))
		sched_yield();
	while (member_place(&fixture.members[1]) == AWAKE &&
	       blocked_now_ns() < end)
		sched_yield();
}

/* Exactly one took the signal, and the timeout is not slept through. */
static bool one_returns_and_one_times_out(void)
{
	bool ok;

	while (member_place(&fixture.members[1]) != RETURNED)
		sched_yield();
	if (fixture.members[1].result == ETIMEDOUT)
		fixture_gone(&fixture, 2);
	ok = fixture_results(&fixture, 0) == 1;
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return ok;
}

/* The main thread is the one that times out. */
static int own_result;

static void one_waits(void)
{
	fixture = fixture_of(&cond, &mutex, 2);
	fixture_wait(&fixture);
}

static void time_out(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	(void)arg;
	api_mutex_lock(&mutex);
	own_result = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&mutex);
}

static bool one_of_both_returns(void)
{
	bool ok = own_result == 0 || own_result == ETIMEDOUT;

	if (own_result == 0)
		ok = ok && fixture_count(&fixture, AT_COND) == 1;
	else
		fixture_gone(&fixture, 1);
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return ok;
}

/* A predicate, as every program has one. */
static bool ready;

static void not_ready(void)
{
	ready = false;
}

static void wait_until_ready(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	while (!ready)
		api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
}

static void make_ready(void)
{
	api_mutex_lock(&mutex);
	ready = true;
	api_mutex_unlock(&mutex);
	api_cond_signal(&cond);
}

static void make_ready_held(void)
{
	api_mutex_lock(&mutex);
	ready = true;
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
}

static bool is_ready(void)
{
	return ready;
}

/* Whoever is woken destroys and unmaps; the caller may still be at work. */
static struct {
	api_cond_t *cond;
	pthread_t thread;
	atomic_int tid;
	atomic_bool waiting;
	atomic_bool done;
} owner;

static void *wait_and_unmap(void *arg)
{
	atomic_store(&owner.tid, blocked_gettid());
	api_mutex_lock(&mutex);
	atomic_store(&owner.waiting, true);
	api_cond_wait(owner.cond, &mutex);
	api_mutex_unlock(&mutex);
	api_cond_destroy(owner.cond);
	munmap(owner.cond, sizeof(*owner.cond));
	atomic_store(&owner.done, true);
	return arg;
}

static void owner_waits(void)
{
	owner.cond = mmap(NULL, sizeof(*owner.cond), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (owner.cond == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	api_cond_init(owner.cond);
	atomic_store(&owner.tid, 0);
	atomic_store(&owner.waiting, false);
	atomic_store(&owner.done, false);
	start_thread(&owner.thread, wait_and_unmap, NULL);
	while (!atomic_load(&owner.waiting))
		sched_yield();
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	if (place_settled(getpid(), atomic_load(&owner.tid), &mutex))
		tap_bail("the waiter never slept");
}

static void signal_owner(void *arg)
{
	(void)arg;
	api_cond_signal(owner.cond);
}

static void broadcast_owner(void *arg)
{
	(void)arg;
	api_cond_broadcast(owner.cond);
}

static void owner_settles(void)
{
	thread_settled(&owner.tid, &owner.done);
}

static bool owner_has_returned(void)
{
	pthread_join(owner.thread, NULL);
	return true;
}

/* A child that uses the condvar, whatever state it was copied in. */
static int child_status;

static _Noreturn void use_in_child(void)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	api_mutex_t own = API_MUTEX_INITIALIZER;
	int err;

	watchdog("the child of a fork");
	api_cond_signal(&cond);
	api_mutex_lock(&own);
	err = api_cond_clockwait(&cond, &own, CLOCK_MONOTONIC, &past);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&own);
	api_cond_destroy(&cond);
	_exit(err == ETIMEDOUT ? 0 : 1);
}

static void other_forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		use_in_child();
	if (pid < 0 || waitpid(pid, &child_status, 0) != pid)
		tap_bail("fork: %s", strerror(errno));
}

static bool child_was_well(void)
{
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	return WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0;
}

static const struct scenario scenarios[] = {
	{ "signal and signal: two return", two_wait, signal_it, other_signals,
	  all_return },
	{ "signal and broadcast: all return", three_wait, signal_it,
	  other_broadcasts, all_return },
	{ "broadcast and signal: all return", three_wait, broadcast_it,
	  other_signals, all_return },
	{ "broadcast, mutex held, and another: all return", three_wait,
	  broadcast_held, other_broadcasts, all_return },
	{ "signal and timeout: one of two returns 0", one_waits_shortly,
	  signal_it, time_passes, one_returns_and_one_times_out },
	{ "signal, mutex held, and timeout: one of two returns 0",
	  one_waits_shortly, signal_held, time_passes,
	  one_returns_and_one_times_out },
	{ "timeout and signal: one of two returns 0", one_waits, time_out,
	  other_signals, one_of_both_returns },
	{ "wait and signal: it returns", not_ready, wait_until_ready,
	  make_ready, is_ready },
	{ "wait and broadcast, mutex held: it returns", not_ready,
	  wait_until_ready, make_ready_held, is_ready },
	{ "signal and destroy by the waiter", owner_waits, signal_owner,
	  owner_settles, owner_has_returned },
	{ "broadcast and destroy by the waiter", owner_waits, broadcast_owner,
	  owner_settles, owner_has_returned },
	{ "signal and fork", two_wait, signal_it, other_forks, child_was_well },
	{ "timeout and fork", two_wait, time_out, other_forks, child_was_well },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

static void test(const char *policy)
{
	scenarios_test(policy, scenarios, NR_SCENARIOS);
}

int main(int argc, char **argv)
{
	api_start(argv);
	scenarios_start(argc, argv, 150);
	return policy_main(argv, NR_SCENARIOS, test);
}
