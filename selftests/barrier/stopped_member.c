// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process of a shared barrier is stopped for as long as it takes the others
 * to fall asleep. When it goes on, all go on. In the end the first process to
 * leave destroys the barrier, and its bytes are gone for all.
 */
#include <drover/barrier.h>
#include <sys/prctl.h>

#include "run.h"
#include "blocked.h"

#define NR_MEMBERS 3
#define NR_LIVES   3

struct shared {
	drover_barrier_t barrier;
	atomic_long turns[NR_MEMBERS];
	atomic_int nr_handled;
	atomic_int nr_early;
	atomic_bool stop;
	bool over;
	atomic_int nr_left;
};

static struct shared *shared;

static void handle(int signal)
{
	shared->nr_handled++;
}

static void member(int nr)
{
	struct sigaction action = { .sa_handler = handle };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 1; !shared->over; i++) {
		shared->turns[nr] = i;
		drover_barrier_wait(&shared->barrier);
		for (int j = 0; j < NR_MEMBERS; j++)
			if (shared->turns[j] < i)
				shared->nr_early++;
		/* Between two barriers, so that all see the same. */
		if (nr == 0)
			shared->over = shared->stop;
		drover_barrier_wait(&shared->barrier);
	}
	if (shared->nr_left++)
		_exit(0);
	if (drover_barrier_destroy(&shared->barrier))
		_exit(1);
	memset(&shared->barrier, 0xff, sizeof(shared->barrier));
	_exit(0);
}

/* Stop one; all others must fall asleep. Wake them for nothing. */
static void stop_one(const pid_t *pids, int nr)
{
	kill(pids[nr], SIGSTOP);
	waitpid(pids[nr], NULL, WUNTRACED);
	for (int i = 0; i < NR_MEMBERS; i++) {
		int handled = shared->nr_handled;

		if (i == nr)
			continue;
		if (wait_blocked(pids[i], pids[i], NULL))
			tap_bail("member %d does not sleep", i);
		kill(pids[i], SIGUSR1);
		if (HANDLERS_ARE_PROMPT)
			reached(&shared->nr_handled, handled + 1);
	}
	for (int i = 0; i < NR_MEMBERS; i++)
		if (i != nr && wait_blocked(pids[i], pids[i], NULL))
			tap_bail("member %d does not sleep again", i);
	kill(pids[nr], SIGCONT);
}

static void wait_for_turns(long more)
{
	long turn = shared->turns[0];

	wait_until(shared->turns[0] >= turn + more, "nobody goes on");
}

/* Returns how many ended as they should. */
static int one_life(int nr_rounds)
{
	drover_barrierattr_t attr = { .flags = DROVER_BARRIER_SHARED };
	pid_t pids[NR_MEMBERS];
	int ended = 0, status;

	memset(shared, 0, sizeof(*shared));
	MUST(drover_barrier_init(&shared->barrier, NR_MEMBERS, &attr));
	for (int i = 0; i < NR_MEMBERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			member(i);
	}
	for (int i = 0; i < nr_rounds; i++) {
		wait_for_turns(2);
		stop_one(pids, i % NR_MEMBERS);
	}
	shared->stop = true;
	for (int i = 0; i < NR_MEMBERS; i++)
		ended += waitpid(pids[i], &status, 0) == pids[i] && !status;
	return ended;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 3);
	int nr_ended = 0, nr_early = 0;

	tap_plan(2);
	shared = map_pages(sizeof(*shared));
	for (int i = 0; i < NR_LIVES; i++) {
		watchdog("a stopped member");
		nr_ended += one_life(nr_rounds);
		nr_early += shared->nr_early;
	}
	tap_is(nr_ended, NR_LIVES * NR_MEMBERS, "all go on, and end");
	tap_is(nr_early, 0, "nobody got through early");
	return tap_exit();
}
