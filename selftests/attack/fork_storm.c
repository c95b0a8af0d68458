// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forks at any moment of a storm of waits, timeouts, signals and broadcasts.
 * The child, and its child, use the very condvars that were in use: with the
 * mutex that the forking thread held, and with one of their own, for the
 * parent's may be held by a thread that stayed behind. Nobody may hang, and in
 * the child a round trip takes exactly the signals that are sent.
 *
 *	seed=N	seconds=N	patience=N: seconds after which a child hangs
 *
 * APIs: drover pthread
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "api.h"
#include "blocked.h"
#include "fake_futex.h"
#include "run.h"
#include "tap.h"

#define NR_PLACES  3
#define NR_WORKERS 6
#define NR_TRIPS   20
#define NESTED	   2

/* A condvar in use by everybody. */
struct place {
	api_mutex_t mutex;
	api_cond_t cond;
};

static struct place places[NR_PLACES];
static struct args args;
static uint64_t seed;
static atomic_bool stop;
static atomic_int nr_workers;

static void work_once(uint64_t *random)
{
	struct place *p = &places[random_below(random, NR_PLACES)];
	struct timespec soon;

	switch (random_below(random, 4)) {
	case 0:
		api_cond_signal(&p->cond);
		break;
	case 1:
		api_cond_broadcast(&p->cond);
		break;
	default:
		api_mutex_lock(&p->mutex);
		soon = deadline_in(CLOCK_MONOTONIC,
				   random_below(random, 200000));
		api_cond_clockwait(&p->cond, &p->mutex, CLOCK_MONOTONIC, &soon);
		api_mutex_unlock(&p->mutex);
	}
}

static void *work(void *unused)
{
	unsigned int number = 1 + atomic_fetch_add(&nr_workers, 1);
	uint64_t random = seed + number;

	(void)unused;
	fake_futex_thread(number);
	while (!atomic_load(&stop))
		work_once(&random);
	return NULL;
}

/* Two threads of a child, which pass a ball with a signal each way. */
struct game {
	api_mutex_t *mutex;
	api_cond_t *cond;
	int ball;
	int nr_spurious;
};

static void *play(void *arg)
{
	struct game *game = arg;

	api_mutex_lock(game->mutex);
	for (int i = 0; i < NR_TRIPS; i++) {
		while (game->ball == 0) {
			api_cond_wait(game->cond, game->mutex);
			game->nr_spurious += game->ball == 0;
		}
		game->ball = 0;
		api_cond_signal(game->cond);
	}
	api_mutex_unlock(game->mutex);
	return NULL;
}

static bool game_passes(struct place *place, api_mutex_t *mutex)
{
	struct game game = { .mutex = mutex, .cond = &place->cond };
	pthread_t other;

	if (pthread_create(&other, NULL, play, &game))
		return false;
	api_mutex_lock(mutex);
	for (int i = 0; i < NR_TRIPS; i++) {
		game.ball = 1;
		api_cond_signal(game.cond);
		while (game.ball == 1) {
			api_cond_wait(game.cond, mutex);
			game.nr_spurious += game.ball == 1;
		}
	}
	api_mutex_unlock(mutex);
	pthread_join(other, NULL);
	return game.nr_spurious == 0 && api_cond_destroy(&place->cond) == 0;
}

/*
 * The child gets the mutex that the forking thread held. A native one knows its
 * holder by the thread id, which is another one now: it is made anew.
 */
static void inherit(api_mutex_t *mutex)
{
	if (API_IS_PTHREAD)
		api_mutex_unlock(mutex);
	else
		api_mutex_init(mutex);
}

static bool fork_passes(int place, int depth);

/* In the child, which holds the mutex of place @held. */
static _Noreturn void child(int held, int depth)
{
	api_mutex_t own = API_MUTEX_INITIALIZER;
	bool ok = true;

	alarm(args_get(&args, "patience", 60));
	fake_futex_thread(100 + depth);
	if (depth < NESTED)
		ok = fork_passes(held, depth + 1);
	inherit(&places[held].mutex);
	for (int i = 0; i < NR_PLACES; i++)
		ok = game_passes(&places[i],
				 i == held ? &places[i].mutex : &own) &&
		     ok;
	_exit(ok ? 0 : 1);
}

/* The caller holds the mutex of @place. */
static bool fork_passes(int place, int depth)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return false;
	if (pid == 0)
		child(place, depth);
	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		tap_diag("child %d deep: signal %d%s", depth, WTERMSIG(status),
			 WTERMSIG(status) == SIGALRM ? ", it hung" : "");
	return status == 0;
}

static bool forks_pass(int64_t end, int *nr)
{
	bool passed = true;
	uint64_t random = seed;

	while (passed && (*nr == 0 || blocked_now_ns() < end)) {
		int place = random_below(&random, NR_PLACES);

		watchdog("a fork");
		api_mutex_lock(&places[place].mutex);
		passed = fork_passes(place, 1);
		api_mutex_unlock(&places[place].mutex);
		++*nr;
	}
	return passed;
}

static void test(const char *policy)
{
	int64_t ns = args_get(&args, "seconds", 1) * NS_PER_S / NR_POLICIES;
	int64_t end = blocked_now_ns() + ns;
	pthread_t threads[NR_WORKERS];
	bool passed;
	int nr = 0;

	seed = args_get(&args, "seed", args_fresh_seed());
	tap_diag("seed=%" PRIu64, seed);
	fake_futex_start(fake_futex_of(seed));
	for (int i = 0; i < NR_WORKERS; i++)
		start_thread(&threads[i], work, NULL);
	passed = forks_pass(end, &nr);
	atomic_store(&stop, true);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	tap_ok(passed, "%s: %d children, each with a child", policy, nr);
}

int main(int argc, char **argv)
{
	args = args_parse(argc, argv, "seed seconds patience");
	if (!fork_threads_work()) {
		tap_plan(1);
		tap_skip("forks at any moment", FORK_THREADS_SKIP);
		return tap_exit();
	}
	return policy_main(argv, 1, test);
}
