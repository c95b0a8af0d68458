// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a condvar learns from: from signals under the mutex, and from nothing else.
 * It looks inside the library, to which it is linked.
 */
#include <pthread.h>

#define member group_member
#define waiter lib_waiter
#include "cond/cond.h"
#undef member
#undef waiter

#include "args.h"
#include "crew.h"
#include "fake_futex.h"
#include "policy.h"
#include "watchdog.h"

#define NR_WAITERS 8
#define NR_ROUNDS  20

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct cond *const inside = (struct cond *)&cond;

/* With the mutex; the threads wait again and again until they are to end. */
static bool over;
static atomic_int nr_waiting;

static void *wait_often(void *unused)
{
	(void)unused;
	api_mutex_lock(&mutex);
	while (!over) {
		atomic_fetch_add(&nr_waiting, 1);
		api_cond_wait(&cond, &mutex);
	}
	api_mutex_unlock(&mutex);
	return NULL;
}

/* All wait once more when this returns. */
static void await(int nr)
{
	if (wait_at_least(&nr_waiting, nr))
		tap_bail("not all wait again");
	api_mutex_lock(&mutex);
	atomic_store(&nr_waiting, 0);
	api_mutex_unlock(&mutex);
}

/* @nr threads are woken by @wake, NR_ROUNDS times. Is anything learned? */
static bool learns(int nr, void (*wake)(void))
{
	pthread_t threads[NR_WAITERS];
	bool learned = false;

	api_cond_init(&cond);
	over = false;
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, wait_often, NULL))
			tap_bail("pthread_create");
	await(nr);
	for (int i = 0; i < NR_ROUNDS; i++) {
		wake();
		await(nr);
		api_mutex_lock(&mutex);
		learned |= inside->single.held != 0;
		api_mutex_unlock(&mutex);
	}
	api_mutex_lock(&mutex);
	over = true;
	api_mutex_unlock(&mutex);
	api_cond_broadcast(&cond);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&nr_waiting, 0);
	return learned;
}

static void broadcast(void)
{
	api_cond_broadcast(&cond);
}

static void signal_alone(void)
{
	api_cond_signal(&cond);
}

static void signal_with_mutex(void)
{
	api_mutex_lock(&mutex);
	api_cond_signal(&cond);
	api_mutex_unlock(&mutex);
}

/* What a signal to one waiter, after @nr to nobody, makes of evidence for moving. */
static int held_after_signals(int nr)
{
	struct crew crew = crew_of(&cond, &mutex, 1);

	while (nr--)
		api_cond_signal(&cond);
	crew_add(&crew, 1);
	inside->single.held = 4;
	api_cond_signal(&cond);
	crew_end(&crew);
	return inside->single.held;
}

static void test_batch(void)
{
	int once, twice;

	api_cond_init(&cond);
	once = held_after_signals(1);
	twice = held_after_signals(2);
	tap_ok(once <= 0, "a signal after one to nobody does");
	tap_ok(twice < once, "and after two all the more");
	tap_is(held_after_signals(0), 4, "but none after one to somebody");
}

static void test(const char *policy)
{
	(void)policy;
	tap_ok(!learns(NR_WAITERS, broadcast),
	       "a herd that finds the mutex held teaches nothing");
	tap_ok(!learns(1, signal_alone), "nor does a signal without the mutex");
	tap_ok(learns(1, signal_with_mutex), "one with the mutex does");
	test_batch();
}

/* From a waiter that is awake when it is signalled nothing is to be learned. */
static const char *const names[] = { "auto,watch=0" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	args_parse(argc, argv, "");
	fake_futex_start((struct fake_futex){ 0 });
	watchdog("evidence");
	return policies_main(argv, list, 6, test);
}
