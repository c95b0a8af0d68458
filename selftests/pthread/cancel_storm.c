// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals and cancellations rain on the same waiters: each signal returns one,
 * as long as there is one, and a thread that is cancelled takes none.
 */
#include "run.h"
#include "fixture.h"
#include "tap.h"

#define NR_WAITERS 5

static pthread_cond_t cond;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed;
static int nr_rounds;

struct waiting {
	pthread_t thread;
	atomic_int tid;
	atomic_bool waiting;
	bool told; /* cancelled by the other side */
};

/* Under the mutex, but for who is still on the way. */
static atomic_int nr_returned, nr_cancelled;

static void count_cancelled(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_cancelled, 1);
	pthread_mutex_unlock(&mutex);
}

static void *wait_or_die(void *arg)
{
	struct waiting *self = arg;
	int ignored;

	atomic_store(&self->tid, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(count_cancelled, NULL);
	atomic_store(&self->waiting, true);
	pthread_cond_wait(&cond, &mutex);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	atomic_fetch_add(&nr_returned, 1);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *send_signals(void *arg)
{
	uint64_t random = *(uint64_t *)arg;
	int nr = random_below(&random, NR_WAITERS) + 1;

	for (int i = 0; i < nr; i++) {
		bool keep = random_below(&random, 2);

		signal_as(&cond, &mutex, keep);
	}
	return (void *)(intptr_t)nr;
}

/* How many sleep in their waits; -1 if somebody is on the way. */
static int nr_asleep(struct waiting *waiting)
{
	int left = NR_WAITERS - atomic_load(&nr_returned) -
		   atomic_load(&nr_cancelled);
	int asleep = 0;

	for (int i = 0; i < NR_WAITERS; i++)
		asleep += place_of(getpid(), atomic_load(&waiting[i].tid),
				   &mutex) == AT_COND;
	return asleep == left ? left : -1;
}

/*
 * How many wait, when all is over. Who was moved to the mutex looks as if it
 * waited; every unlock wakes one of those, so after some nobody is left there.
 */
static int nr_waiting(struct waiting *waiting)
{
	int before = -1;

	for (int quiet = 0; quiet <= NR_WAITERS; quiet++) {
		int now = nr_asleep(waiting);

		if (now < 0 || now != before)
			quiet = 0;
		before = now;
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return before;
}

static void start(struct waiting *waiting)
{
	atomic_store(&nr_returned, 0);
	atomic_store(&nr_cancelled, 0);
	for (int i = 0; i < NR_WAITERS; i++)
		start_thread(&waiting[i].thread, wait_or_die, &waiting[i]);
	for (int i = 0; i < NR_WAITERS; i++) {
		while (!atomic_load(&waiting[i].waiting))
			sched_yield();
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void cancel_some(struct waiting *waiting)
{
	int nr = random_below(&seed, NR_WAITERS);

	for (int i = 0; i < nr; i++) {
		int victim = random_below(&seed, NR_WAITERS);

		/* Cancelling twice is allowed: none is joined yet. */
		pthread_cancel(waiting[victim].thread);
		waiting[victim].told = true;
	}
}

/* One round: were the signals taken as they must be? */
static bool storm(void)
{
	struct waiting waiting[NR_WAITERS] = { 0 };
	uint64_t random = random_next(&seed);
	int nr_told = 0, left, returned;
	pthread_t signaller;
	void *nr_signals;
	bool ok;

	start(waiting);
	start_thread(&signaller, send_signals, &random);
	cancel_some(waiting);
	pthread_join(signaller, &nr_signals);
	left = nr_waiting(waiting);
	returned = atomic_load(&nr_returned);
	for (int i = 0; i < NR_WAITERS; i++)
		nr_told += waiting[i].told;
	ok = returned <= (intptr_t)nr_signals &&
	     (left == 0 || returned == (intptr_t)nr_signals) &&
	     atomic_load(&nr_cancelled) <= nr_told;
	if (!ok)
		tap_diag("%d signals: %d returned, %d cancelled, %d wait",
			 (int)(intptr_t)nr_signals, returned,
			 atomic_load(&nr_cancelled), left);
	pthread_cond_broadcast(&cond);
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_join(waiting[i].thread, NULL);
	return ok;
}

static void test_cond(const char *policy, int pshared)
{
	int nr_wrong = 0;

	kind_cond_init(&cond, pshared);
	watchdog("a storm of signals and cancellations");
	for (int i = 0; i < nr_rounds; i++)
		nr_wrong += !storm();
	tap_is(nr_wrong, 0, "%s: %s condvar: no signal lost or taken twice",
	       policy, pshared ? "shared" : "private");
	pthread_cond_destroy(&cond);
}

static void test(const char *policy)
{
	tap_diag("seed=%" PRIu64, seed);
	test_cond(policy, PTHREAD_PROCESS_PRIVATE);
	test_cond(policy, PTHREAD_PROCESS_SHARED);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");

	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	seed = args_get(&args, "seed", args_fresh_seed());
	nr_rounds = args_get(&args, "rounds", 60);
	return policy_main(argv, 2, test);
}
