// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once: threads that wait without end and with deadlines of 0 to
 * some microseconds, signals and broadcasts, several condvars, two of them on
 * one mutex each. A ledger for each condvar says that no wakeup is lost, none
 * is spurious and none is taken by who came too late.
 *
 *	seed=N seconds=N threads=N
 *
 * The seconds are shared out among the policies.
 */
#include "args.h"
#include "blocked.h"
#include "cond_api.h"
#include "deadline.h"
#include "ledger.h"
#include "policy.h"
#include "watchdog.h"

#define NR_BOXES   4
#define NR_QUEUES  2
#define NR_SECONDS 60 /* for the last wakeups to arrive */

/* Signalled with the mutex held, so that a ledger can be kept. */
static struct box {
	api_cond_t cond;
	struct ledger ledger;
} boxes[NR_BOXES];

static api_mutex_t box_mutexes[NR_BOXES / 2];

/* Signalled after unlocking: items, of which none may stay. */
static struct queue {
	api_mutex_t mutex;
	api_cond_t cond;
	long nr_items;
	long nr_taken;
	bool closed;
} queues[NR_QUEUES];

static atomic_bool stop_signals, stop_waits;

struct worker {
	pthread_t thread;
	int nr;
	uint64_t random;
};

static api_mutex_t *box_mutex(struct box *box)
{
	return &box_mutexes[(box - boxes) / 2];
}

/* NULL, or a deadline that is past, near or very near. */
static const struct timespec *some_deadline(uint64_t *random,
					    struct timespec *deadline)
{
	switch (random_below(random, 4)) {
	case 0:
		return NULL;
	case 1:
		*deadline = deadline_in(CLOCK_MONOTONIC, 0);
		return deadline;
	case 2:
		*deadline = deadline_in(CLOCK_MONOTONIC,
					random_below(random, 5000));
		return deadline;
	default:
		*deadline = deadline_in(CLOCK_MONOTONIC,
					random_below(random, 200000));
		return deadline;
	}
}

static int wait_until(api_cond_t *cond, api_mutex_t *mutex,
		      const struct timespec *deadline)
{
	if (!deadline)
		return api_cond_wait(cond, mutex);
	return api_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, deadline);
}

static void wait_in_box(uint64_t *random)
{
	struct box *box = &boxes[random_below(random, NR_BOXES)];
	struct timespec storage;
	const struct timespec *deadline = some_deadline(random, &storage);
	uint64_t ticket;
	int err;

	api_mutex_lock(box_mutex(box));
	/* The last broadcast comes after this is set: do not miss it. */
	if (!atomic_load(&stop_waits)) {
		ticket = ledger_wait(&box->ledger);
		err = wait_until(&box->cond, box_mutex(box), deadline);
		ledger_return(&box->ledger, ticket, err);
	}
	api_mutex_unlock(box_mutex(box));
}

static void *wait_in_boxes(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&stop_waits))
		wait_in_box(&worker->random);
	return NULL;
}

static void signal_box(uint64_t *random)
{
	struct box *box = &boxes[random_below(random, NR_BOXES)];

	api_mutex_lock(box_mutex(box));
	if (random_below(random, 8)) {
		ledger_signal(&box->ledger);
		api_cond_signal(&box->cond);
	} else {
		ledger_broadcast(&box->ledger);
		api_cond_broadcast(&box->cond);
	}
	api_mutex_unlock(box_mutex(box));
}

static void put_in_queue(uint64_t *random)
{
	struct queue *queue = &queues[random_below(random, NR_QUEUES)];

	api_mutex_lock(&queue->mutex);
	queue->nr_items++;
	api_mutex_unlock(&queue->mutex);
	api_cond_signal(&queue->cond);
}

/* Also waits a little, but never without end: the others depend on it. */
static void *signal_boxes(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&stop_signals)) {
		signal_box(&worker->random);
		put_in_queue(&worker->random);
		if (random_below(&worker->random, 4) == 0)
			sched_yield();
	}
	return NULL;
}

static void *take_from_queue(void *arg)
{
	struct worker *worker = arg;
	/* Each queue has somebody to take from it. */
	struct queue *queue = &queues[worker->nr / 4 % NR_QUEUES];
	struct timespec storage;

	api_mutex_lock(&queue->mutex);
	while (queue->nr_items || !queue->closed) {
		if (queue->nr_items) {
			queue->nr_items--;
			queue->nr_taken++;
		} else {
			wait_until(&queue->cond, &queue->mutex,
				   some_deadline(&worker->random, &storage));
		}
	}
	api_mutex_unlock(&queue->mutex);
	return NULL;
}

static void start(struct worker *worker, uint64_t *seed, void *(*run)(void *))
{
	worker->random = random_next(seed);
	if (pthread_create(&worker->thread, NULL, run, worker))
		tap_bail("pthread_create");
}

/* All that has happened so far. */
static long progress(void)
{
	long nr = 0;

	for (int i = 0; i < NR_BOXES; i++) {
		api_mutex_lock(box_mutex(&boxes[i]));
		nr += boxes[i].ledger.nr_returns;
		api_mutex_unlock(box_mutex(&boxes[i]));
	}
	for (int i = 0; i < NR_QUEUES; i++) {
		api_mutex_lock(&queues[i].mutex);
		nr += queues[i].nr_taken;
		api_mutex_unlock(&queues[i].mutex);
	}
	return nr;
}

/* As long as something happens, the watchdog is content. */
static void run_for(int64_t seconds)
{
	int64_t end = blocked_now_ns() + seconds * NS_PER_S / NR_POLICIES;
	const struct timespec moment = { .tv_nsec = 20 * NS_PER_MS };
	long before = -1;

	while (blocked_now_ns() < end) {
		long now = progress();

		if (now != before)
			watchdog("mixed stress");
		before = now;
		nanosleep(&moment, NULL);
	}
}

/* Does everybody who was signalled return, with nobody to help? */
static bool box_settles(struct box *box)
{
	int64_t deadline = blocked_now_ns() + NR_SECONDS / 2 * NS_PER_S;
	int left;

	do {
		sched_yield();
		api_mutex_lock(box_mutex(box));
		left = box->ledger.nr_credits;
		api_mutex_unlock(box_mutex(box));
	} while (left && blocked_now_ns() < deadline);
	return left == 0;
}

static void drain(void)
{
	atomic_store(&stop_waits, true);
	for (int i = 0; i < NR_BOXES; i++) {
		api_mutex_lock(box_mutex(&boxes[i]));
		ledger_broadcast(&boxes[i].ledger);
		api_cond_broadcast(&boxes[i].cond);
		api_mutex_unlock(box_mutex(&boxes[i]));
	}
	for (int i = 0; i < NR_QUEUES; i++) {
		api_mutex_lock(&queues[i].mutex);
		queues[i].closed = true;
		api_mutex_unlock(&queues[i].mutex);
		api_cond_broadcast(&queues[i].cond);
	}
}

static int nr_threads;
static int64_t seconds;
static uint64_t seed;

static void make(void)
{
	for (int i = 0; i < NR_BOXES; i++)
		api_cond_init(&boxes[i].cond);
	for (int i = 0; i < NR_BOXES / 2; i++)
		api_mutex_init(&box_mutexes[i]);
	for (int i = 0; i < NR_QUEUES; i++) {
		api_cond_init(&queues[i].cond);
		api_mutex_init(&queues[i].mutex);
	}
}

static void report(const char *policy, bool settled)
{
	long nr_returns = 0, nr_timeouts = 0, nr_wrong = 0, nr_left = 0;

	for (int i = 0; i < NR_BOXES; i++) {
		nr_returns += boxes[i].ledger.nr_returns;
		nr_timeouts += boxes[i].ledger.nr_timeouts;
		nr_wrong += boxes[i].ledger.nr_wrong;
		nr_left += boxes[i].ledger.nr_waits;
	}
	tap_ok(settled, "%s: no wakeup was lost", policy);
	tap_is(nr_wrong, 0, "%s: none was spurious or another's", policy);
	tap_is(nr_left, 0, "%s: all have returned", policy);
	tap_is(queues[0].nr_items + queues[1].nr_items, 0,
	       "%s: no item was left", policy);
	tap_diag("%ld returns, %ld timeouts, %ld items", nr_returns,
		 nr_timeouts, queues[0].nr_taken + queues[1].nr_taken);
}

static void test(const char *policy)
{
	void *(*const roles[])(void *) = {
		wait_in_boxes,
		signal_boxes,
		wait_in_boxes,
		take_from_queue,
	};
	struct worker workers[LEDGER_MAX];
	bool settled = true;

	tap_diag("seed=%" PRIu64 " threads=%d", seed, nr_threads);
	make();
	for (int i = 0; i < nr_threads; i++) {
		workers[i].nr = i;
		start(&workers[i], &seed, roles[i % 4]);
	}
	run_for(seconds);
	atomic_store(&stop_signals, true);
	for (int i = 1; i < nr_threads; i += 4)
		pthread_join(workers[i].thread, NULL);
	watchdog("the last wakeups");
	for (int i = 0; i < NR_BOXES; i++)
		settled = box_settles(&boxes[i]) && settled;
	drain();
	for (int i = 0; i < nr_threads; i++)
		if (i % 4 != 1)
			pthread_join(workers[i].thread, NULL);
	report(policy, settled);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed seconds threads");

	api_start(argv);
	seed = args_get(&args, "seed", args_fresh_seed());
	seconds = args_get(&args, "seconds", 1);
	nr_threads = args_get(&args, "threads", 16);
	if (nr_threads < 4 * NR_QUEUES || nr_threads > LEDGER_MAX)
		tap_bail("threads=%d to threads=%d", 4 * NR_QUEUES, LEDGER_MAX);
	return policy_main(argv, 4, test);
}
