// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters that time out or are signalled while they are moved and woken: each
 * wait ends once, and as many were woken as the wakes counted.
 */
#include <signal.h>

#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 16
#define NR_TARGETS 4
#define FLAGS	   FUTEX_PRIVATE_FLAG

static uint32_t from, to[NR_TARGETS];
static atomic_bool stop;
static atomic_long nr_woken, nr_wakes, nr_timeouts, nr_signals, nr_moves;
static uint64_t seed;

struct racer {
	pthread_t thread;
	uint64_t random;
};

static void count_result(long result)
{
	switch (result) {
	case 0:
		atomic_fetch_add(&nr_woken, 1);
		break;
	case -ETIMEDOUT:
		atomic_fetch_add(&nr_timeouts, 1);
		break;
	case -EINTR:
		atomic_fetch_add(&nr_signals, 1);
		break;
	case -EAGAIN:
		break;
	default:
		tap_bail("FUTEX_WAIT: %s", strerror(-result));
	}
}

/* A wait of 0 to 200 microseconds; every sixteenth one of a second. */
static void *wait_shortly(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&stop)) {
		struct timespec timeout = {
			.tv_nsec = random_below(&racer->random, 200000),
		};

		if (random_below(&racer->random, 16) == 0)
			timeout = (struct timespec){ .tv_sec = 1 };
		count_result(sys_futex_wait(&from, FLAGS, 0, &timeout));
	}
	return NULL;
}

static void *move(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&stop)) {
		uint32_t target = random_below(&racer->random, NR_TARGETS);
		int nr = random_below(&racer->random, NR_WAITERS);
		long moved =
			sys_futex_requeue(&from, &to[target], FLAGS, 0, nr);

		if (moved < 0)
			tap_bail("FUTEX_REQUEUE: %s", strerror(-moved));
		atomic_fetch_add(&nr_moves, moved);
	}
	return NULL;
}

static void *wake(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&stop)) {
		uint32_t target = random_below(&racer->random, NR_TARGETS);

		atomic_fetch_add(&nr_wakes,
				 sys_futex_wake(&to[target], FLAGS, 1));
	}
	return NULL;
}

static void start(struct racer *racer, void *(*run)(void *))
{
	racer->random = random_next(&seed);
	start_thread(&racer->thread, run, racer);
}

static void nothing(int signal)
{
	(void)signal;
}

/* Signals all over the sleepers until enough waiters were moved and woken. */
static void run_for(struct racer *waiters, long moves)
{
	int64_t deadline = blocked_deadline();
	long seen = 0;

	while (atomic_load(&nr_moves) < moves ||
	       atomic_load(&nr_wakes) < moves / 100) {
		uint32_t victim = random_below(&seed, NR_WAITERS);
		long done = atomic_load(&nr_moves) + atomic_load(&nr_wakes);

		if (blocked_still(done, &seen, &deadline))
			break;
		pthread_kill(waiters[victim].thread, SIGUSR1);
		sched_yield();
	}
}

static void join(struct racer *racers, int nr)
{
	for (int i = 0; i < nr; i++)
		pthread_join(racers[i].thread, NULL);
}

/* Those still asleep return by their timeouts: nobody wakes them. */
static long finish(struct racer *waiters, struct racer *mover,
		   struct racer *waker)
{
	long left = 0;

	__atomic_store_n(&from, 1, __ATOMIC_SEQ_CST);
	atomic_store(&stop, true);
	join(mover, 1);
	join(waker, 1);
	join(waiters, NR_WAITERS);
	left += sys_futex_wake(&from, FLAGS, INT_MAX);
	for (int i = 0; i < NR_TARGETS; i++)
		left += sys_futex_wake(&to[i], FLAGS, INT_MAX);
	return left;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");
	long moves = args_get(&args, "rounds", 5000);
	struct sigaction action = { .sa_handler = nothing };
	struct racer waiters[NR_WAITERS], mover, waker;

	if (variant_is("none"))
		return requeue_absent_main();
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(3);
	tap_diag("seed=%" PRIu64, seed);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < NR_WAITERS; i++)
		start(&waiters[i], wait_shortly);
	start(&mover, move);
	start(&waker, wake);
	run_for(waiters, moves);
	tap_is(finish(waiters, &mover, &waker), 0, "nothing was left behind");
	tap_ok(atomic_load(&nr_moves) >= moves, "%ld moves", moves);
	tap_is(atomic_load(&nr_woken), atomic_load(&nr_wakes),
	       "as many were woken as the wakes counted");
	tap_diag("%ld moves, %ld woken, %ld timeouts, %ld signals",
		 atomic_load(&nr_moves), atomic_load(&nr_woken),
		 atomic_load(&nr_timeouts), atomic_load(&nr_signals));
	return tap_exit();
}
