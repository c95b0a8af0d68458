// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some waiters sleep when a broadcast comes, and most have not fallen asleep
 * yet, as is usual for threads that wait in short rounds. While the mutex is in
 * use the broadcast wakes at most one of those that sleep all the same, in
 * whatever round.
 *
 * Who polls yields now and then: the others are kept there, by a sched_yield()
 * of this program's.
 *
 * APIs: drover pthread
 */
#include "fixture.h"
#include "run.h"

#define NR_WAITERS 8
#define NR_ASLEEP  3
#define NR_ROUNDS  40

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

static struct worker {
	pthread_t thread;
	atomic_int tid;
	atomic_int nr_asked; /* to wait, by the main thread */
	atomic_int nr_begun; /* with the mutex held */
	atomic_int nr_returned;
} workers[NR_WAITERS];

static _Thread_local bool is_main;
static atomic_bool keeps_awake;
static atomic_int nr_kept;

int sched_yield(void)
{
	if (atomic_load(&keeps_awake) && !is_main) {
		atomic_fetch_add(&nr_kept, 1);
		while (atomic_load(&keeps_awake))
			usleep(500);
	}
	return syscall(SYS_sched_yield);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	atomic_store(&w->tid, blocked_gettid());
	for (int round = 1; round <= NR_ROUNDS; round++) {
		while (atomic_load(&w->nr_asked) < round)
			usleep(500);
		api_mutex_lock(&mutex);
		atomic_store(&w->nr_begun, round);
		api_cond_wait(&cond, &mutex);
		api_mutex_unlock(&mutex);
		atomic_store(&w->nr_returned, round);
	}
	return NULL;
}

static enum place worker_place(struct worker *w)
{
	return place_of(getpid(), atomic_load(&w->tid), &mutex);
}

/* It waits when this returns: asleep, or kept from that. */
static void worker_waits(struct worker *w)
{
	int64_t deadline = blocked_deadline();
	int before = atomic_load(&nr_kept);
	int round = atomic_fetch_add(&w->nr_asked, 1) + 1;

	if (wait_at_least(&w->nr_begun, round))
		tap_bail("a waiter never waited");
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	while (atomic_load(&nr_kept) == before && worker_place(w) != AT_COND) {
		if (blocked_over(deadline))
			tap_bail("a waiter neither sleeps nor yields");
		sched_yield();
	}
}

/* Who was woken is no longer in its first sleep when the call returns. */
static int broadcast_wakes(void)
{
	int nr = 0;

	api_cond_broadcast(&cond);
	for (int i = 0; i < NR_ASLEEP; i++)
		nr += worker_place(&workers[i]) != AT_COND;
	return nr;
}

static atomic_int holder_has_it;
static atomic_bool holder_lets_go;

static void *hold_mutex(void *arg)
{
	api_mutex_lock(&mutex);
	atomic_store(&holder_has_it, 1);
	while (!atomic_load(&holder_lets_go))
		usleep(500);
	api_mutex_unlock(&mutex);
	return arg;
}

static int broadcast_held_by_other(void)
{
	pthread_t holder;
	int nr;

	atomic_store(&holder_has_it, 0);
	atomic_store(&holder_lets_go, false);
	if (pthread_create(&holder, NULL, hold_mutex, NULL) ||
	    wait_at_least(&holder_has_it, 1))
		tap_bail("no thread holds the mutex");
	nr = broadcast_wakes();
	atomic_store(&keeps_awake, false);
	atomic_store(&holder_lets_go, true);
	pthread_join(holder, NULL);
	return nr;
}

static int broadcast_held_by_caller(void)
{
	int nr;

	api_mutex_lock(&mutex);
	nr = broadcast_wakes();
	atomic_store(&keeps_awake, false);
	api_mutex_unlock(&mutex);
	return nr;
}

/* Return: how many of those that slept the broadcast has woken. */
static int run_round(int (*broadcast)(void), int *kept)
{
	int nr;

	for (int i = 0; i < NR_ASLEEP; i++)
		worker_waits(&workers[i]);
	atomic_store(&nr_kept, 0);
	atomic_store(&keeps_awake, true);
	for (int i = NR_ASLEEP; i < NR_WAITERS; i++)
		worker_waits(&workers[i]);
	*kept += atomic_load(&nr_kept);
	nr = broadcast();
	for (int i = 0; i < NR_WAITERS; i++)
		if (wait_at_least(&workers[i].nr_returned,
				  atomic_load(&workers[i].nr_asked)))
			tap_bail("a waiter does not return");
	return nr;
}

int main(int argc, char **argv)
{
	int most[2] = { 0 }, kept = 0;

	api_start(argv);
	is_main = true;
	tap_plan(2);
	if (variant_is("none")) {
		tap_skip_all(2, "broadcasts", "this kernel has no requeue");
		return tap_exit();
	}
	for (int i = 0; i < NR_WAITERS; i++)
		start_thread(&workers[i].thread, work, &workers[i]);
	for (int round = 0; round < NR_ROUNDS; round++) {
		bool other = round % 2;
		int nr;

		watchdog("a round");
		nr = run_round(other ? broadcast_held_by_other :
				       broadcast_held_by_caller,
			       &kept);
		most[other] = nr > most[other] ? nr : most[other];
	}
	tap_diag("%d were kept awake", kept);
	tap_is(most[0], 0, "a broadcast by the mutex's holder wakes nobody");
	tap_ok(most[1] <= 1, "one while another thread holds it wakes one");
	return tap_exit();
}
