// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process-shared condvar stays usable when processes are killed while they
 * wait on it, signal it or broadcast it (sourceware bug 21422).
 *
 *	seed=N	kills=N
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "run.h"
#include "api.h"
#include "stepper.h"

#define NR_PEERS 4

/* What all processes share. */
struct arena {
	pthread_mutex_t mutex; /* robust */
	pthread_cond_t cond;
	int round; /* [mutex] what a fresh waiter waits for to change */
	atomic_int nr_waiting, nr_returned, nr_steps, traced;
};

static struct arena *arena;

static void lock(void)
{
	int err = pthread_mutex_lock(&arena->mutex);

	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(&arena->mutex);
	if (err)
		_exit(err);
}

static void unlock(void)
{
	pthread_mutex_unlock(&arena->mutex);
}

static void arena_start(void)
{
	arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED ||
	    kind_mutex_init(&arena->mutex, kind_named("robust"), true) ||
	    kind_cond_init(&arena->cond, true))
		tap_bail("no arena");
}

static pid_t start(void (*body)(uint64_t), uint64_t seed)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid == 0) {
		body(seed);
		_exit(0);
	}
	return pid;
}

static void reap(pid_t pid)
{
	if (waitpid(pid, NULL, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	reap(pid);
}

/* Waits for the round to change. */
static void waiter_body(uint64_t seed)
{
	int round, err = 0;

	lock();
	round = arena->round;
	arena->nr_waiting++;
	while (round == arena->round && (err == 0 || err == EOWNERDEAD)) {
		err = pthread_cond_wait(&arena->cond, &arena->mutex);
		if (err == EOWNERDEAD)
			pthread_mutex_consistent(&arena->mutex);
	}
	arena->nr_returned++;
	unlock();
}

static pid_t sleeping_waiter(void)
{
	int before = arena->nr_waiting;
	pid_t pid = start(waiter_body, 0);

	if (wait_at_least(&arena->nr_waiting, before + 1) ||
	    wait_blocked(pid, pid, NULL))
		tap_bail("a waiter never went to sleep");
	return pid;
}

static void change_round(void)
{
	lock();
	arena->round++;
	unlock();
}

/* The condvar works: a broadcast reaches fresh waiters, and so do signals. */
static void test_usable(const char *after, int nr_dead)
{
	pid_t waiters[NR_PEERS];
	int target, signals = 0;

	watchdog("a broadcast to fresh waiters");
	arena->nr_returned = 0;
	for (int i = 0; i < NR_PEERS; i++)
		waiters[i] = sleeping_waiter();
	change_round();
	pthread_cond_broadcast(&arena->cond);
	for (int i = 0; i < NR_PEERS; i++)
		reap(waiters[i]);
	tap_ok(arena->nr_returned == NR_PEERS, "%s, a broadcast reaches all",
	       after);

	watchdog("signals to a fresh waiter");
	target = arena->nr_returned + 1;
	waiters[0] = sleeping_waiter();
	change_round();
	while (arena->nr_returned < target && signals <= nr_dead) {
		pthread_cond_signal(&arena->cond);
		signals++;
	}
	reap(waiters[0]);
	tap_ok(arena->nr_returned == target,
	       "%s, the dead absorb no more than a signal each", after);
}

static void test_killed_waiters(void)
{
	watchdog("killing waiters");
	for (int i = 0; i < 3; i++)
		end(sleeping_waiter());
	/* Nobody may have been told that the dead are gone. */
	test_usable("waiters killed", 3);
}

static void signal_once(uint64_t seed)
{
	wait_at_least(&arena->traced, 1);
	stepper_stop_here();
	pthread_cond_signal(&arena->cond);
	arena->nr_steps++;
	pause();
}

/*
 * A waiter sleeps, and a signaller is killed after @nr_instructions. The next
 * signal has to get through. Return: whether the first one was over before.
 */
static bool killed_signal(int nr_instructions)
{
	int over = arena->nr_steps + 1, nr = 0;
	pid_t waiter = sleeping_waiter(), peer;

	change_round();
	arena->traced = 0;
	peer = start(signal_once, 0);
	if (stepper_seize(peer))
		tap_bail("ptrace: %s", strerror(errno));
	arena->traced = 1;
	stepper_await(peer);
	while (nr++ < nr_instructions && arena->nr_steps < over)
		if (step(peer) == STEP_ASLEEP)
			tap_bail("a signal sleeps");
	end(peer);
	pthread_cond_signal(&arena->cond);
	reap(waiter);
	return arena->nr_steps >= over;
}

static void test_killed_signaller(void)
{
	int nr = 0;

	if (!STEPPER_WORKS) {
		tap_skip("a signaller killed", "no stepper for this machine");
		return;
	}
	do
		watchdog("a signal after a killed signaller's");
	while (!killed_signal(nr++));
	tap_ok(nr > 1, "a signaller killed at any instruction, the next"
		       " signal gets through");
	tap_diag("%d instructions", nr - 1);
}

/* Uses the condvar in every way until killed. */
static void peer_body(uint64_t seed)
{
	for (;;) {
		struct timespec soon;

		arena->nr_steps++;
		switch (random_below(&seed, 4)) {
		case 0:
			pthread_cond_signal(&arena->cond);
			break;
		case 1:
			pthread_cond_broadcast(&arena->cond);
			break;
		default:
			soon = deadline_in(CLOCK_REALTIME,
					   random_below(&seed, 1000000));
			lock();
			if (pthread_cond_timedwait(&arena->cond, &arena->mutex,
						   &soon) == EOWNERDEAD)
				pthread_mutex_consistent(&arena->mutex);
			unlock();
		}
	}
}

static void test_storm(uint64_t seed, int kills)
{
	pid_t peers[NR_PEERS];

	for (int i = 0; i < NR_PEERS; i++)
		peers[i] = start(peer_body, random_next(&seed));
	for (int i = 0; i < kills; i++) {
		int victim = random_below(&seed, NR_PEERS);
		int steps = arena->nr_steps + random_below(&seed, 40);

		watchdog("a storm of kills");
		if (wait_at_least(&arena->nr_steps, steps))
			tap_bail("no progress after %d kills", i);
		end(peers[victim]);
		peers[victim] = start(peer_body, random_next(&seed));
	}
	for (int i = 0; i < NR_PEERS; i++)
		end(peers[i]);
	tap_ok(1, "%d peers killed at random, the others go on", kills);
	test_usable("a storm of kills", kills + NR_PEERS);
}

static void test_destroy(void)
{
	watchdog("destroy");
	tap_ok(pthread_cond_destroy(&arena->cond) == 0,
	       "destroy decides that the rest are dead");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed kills");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());

	drop_in_load(argv);
	tap_plan(7);
	tap_diag("seed=%" PRIu64, seed);
	arena_start();
	test_killed_waiters();
	test_killed_signaller();
	test_storm(seed, args_get(&args, "kills", 100));
	test_destroy();
	return tap_exit();
}
