// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal wakes a thread that waits with a predicate. During the system call
 * the signaller does not have the condvar's lock. Other threads, which hold the
 * mutex, take this lock when they begin or end a wait. When they had to wait
 * for the system call, a pool with 16 workers took four times as long.
 *
 * If more waiters than CPUs are on their way to the mutex, a signal is left to
 * one of them: the signaller makes no system call. The signal is not lost.
 *
 * A thread that has returned may end the life of the condvar, even before the
 * system call of the signaller returns.
 */
#include <drover/cond.h>

#include "base/poll.h"
#include "cond/group.h"
#include "blocked.h"
#include "run.h"

static drover_cond_t cond;
static drover_mutex_t mutex;
static int nr_items; /* with the mutex */
static _Thread_local bool signals;
static int nr_wakes, nr_with_lock;
static drover_cond_t *mortal; /* in a page that its only waiter unmaps */
static atomic_int mortal_tid, unmapped;

/* The library calls this function. */
long raw_futex_call(_Atomic uint32_t *word, int call, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	struct cond *c = (struct cond *)(mortal ?: &cond);
	bool of_lock = word == &c->lock.word;
	int op = call & FUTEX_CMD_MASK;
	bool has_lock = false;
	long ret;

	if (signals && (op == FUTEX_WAKE || op == FUTEX_CMP_REQUEUE_PI)) {
		nr_wakes++;
		has_lock = !of_lock && load_relaxed(&c->lock.word) != LOCK_FREE;
		nr_with_lock += has_lock;
	}
	ret = syscall(SYS_futex, word, call, val, timeout_or_val2, word2, val3);
	if (signals && mortal && has_lock)
		asleep_on(&mortal_tid, &c->lock.word);
	else if (signals && mortal)
		reached(&unmapped, 1);
	return ret;
}

static bool has_item(void *unused)
{
	return nr_items > 0;
}

static void *wait_main(void *tid)
{
	drover_mutex_lock(&mutex);
	atomic_store((atomic_int *)tid, gettid());
	tap_must(drover_cond_await(&cond, &mutex, has_item, NULL), "await");
	nr_items--;
	drover_mutex_unlock(&mutex);
	return NULL;
}

static void test(bool held, const char *what)
{
	atomic_int tid = 0;
	pthread_t thread;

	watchdog(what);
	nr_wakes = nr_with_lock = 0;
	thread = thread_of(wait_main, &tid);
	asleep_on(&tid, NULL);
	drover_mutex_lock(&mutex);
	nr_items = 1;
	if (!held)
		drover_mutex_unlock(&mutex);
	signals = true;
	drover_cond_signal(&cond);
	signals = false;
	if (held)
		drover_mutex_unlock(&mutex);
	joined(thread);
	tap_ok(nr_wakes == 1 && nr_with_lock == 0, "%s", what);
}

static void *plain_main(void *tid)
{
	drover_mutex_lock(&mutex);
	atomic_store((atomic_int *)tid, gettid());
	tap_must(drover_cond_wait(&cond, &mutex), "wait");
	drover_mutex_unlock(&mutex);
	return NULL;
}

static void *signal_main(void *nr)
{
	signals = true;
	for (int i = *(int *)nr; i; i--)
		tap_must(drover_cond_signal(&cond), "signal");
	signals = false;
	return NULL;
}

/*
 * One waiter more than the CPUs leave room for. All stay on their way until the
 * mutex is free. @kind: of the mutex; @plain: a thread waits without a predicate
 */
static void test_many(bool held, unsigned int kind, bool plain,
		      const char *what)
{
	drover_mutexattr_t attributes = { .flags = kind };
	int nr = (int)poll_cpus() + 2, last = nr + plain;
	pthread_t threads[last];
	atomic_int tids[last];

	watchdog(what);
	tap_must(drover_mutex_init(&mutex, &attributes), "mutex");
	for (int i = 0; i < last; i++) {
		tids[i] = 0;
		threads[i] =
			thread_of(i < nr ? wait_main : plain_main, &tids[i]);
		asleep_on(&tids[i], NULL);
	}
	drover_mutex_lock(&mutex);
	nr_items = nr;
	nr_wakes = 0;
	if (held)
		signal_main(&nr);
	else
		joined(thread_of(signal_main, &nr));
	drover_mutex_unlock(&mutex);
	for (int i = 0; i < nr; i++)
		joined(threads[i]);
	drover_cond_broadcast(&cond);
	if (plain)
		joined(threads[nr]);
	tap_ok(nr_wakes == (kind || plain ? nr : nr - 1) && !nr_items, "%s",
	       what);
}

static void *unmap_main(void *unused)
{
	drover_mutex_lock(&mutex);
	mortal_tid = gettid();
	tap_must(drover_cond_await(mortal, &mutex, has_item, NULL), "await");
	nr_items--;
	drover_mutex_unlock(&mutex);
	munmap(mortal, sizeof(*mortal));
	unmapped = 1;
	return unused;
}

static int broadcast_on(drover_cond_t *cond)
{
	return drover_cond_broadcast_on(cond, &mutex);
}

static void test_mortal(int (*wake)(drover_cond_t *cond), const char *what)
{
	pthread_t thread;

	watchdog(what);
	tap_must(drover_mutex_init(&mutex, NULL), "mutex");
	mortal = map_pages(sizeof(*mortal));
	mortal_tid = unmapped = 0;
	thread = thread_of(unmap_main, NULL);
	asleep_on(&mortal_tid, NULL);
	drover_mutex_lock(&mutex);
	nr_items = 1;
	drover_mutex_unlock(&mutex);
	signals = true;
	tap_must(wake(mortal), "wake");
	signals = false;
	joined(thread);
	mortal = NULL;
	tap_ok(unmapped, "%s", what);
}

static void *destroy_main(void *tid)
{
	atomic_store((atomic_int *)tid, gettid());
	drover_cond_destroy(&cond);
	return NULL;
}

/*
 * One signal too many is left to a waiter, which hands it on while a thread
 * without the mutex destroys the condvar. No waiter is taken for one that waits
 * in the C library's own function (cond/foreign.c).
 */
static void test_destroy(const char *what)
{
	int nr = (int)poll_cpus() + 2, signals_sent = nr + 1;
	atomic_int tids[nr], destroyer_tid = 0;
	pthread_t threads[nr], destroyer;

	watchdog(what);
	tap_must(drover_mutex_init(&mutex, NULL), "mutex");
	for (int i = 0; i < nr; i++) {
		tids[i] = 0;
		threads[i] = thread_of(wait_main, &tids[i]);
		asleep_on(&tids[i], NULL);
	}
	drover_mutex_lock(&mutex);
	nr_items = nr;
	joined(thread_of(signal_main, &signals_sent));
	destroyer = thread_of(destroy_main, &destroyer_tid);
	asleep_on(&destroyer_tid, NULL);
	drover_mutex_unlock(&mutex);
	for (int i = 0; i < nr; i++)
		joined(threads[i]);
	joined(destroyer);
	tap_ok(!((struct cond *)&cond)->foreign_signals, "%s", what);
	tap_must(drover_cond_init(&cond, NULL), "cond");
}

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(10);
	poll_limit(0); /* a thread that waits for a lock sleeps */
	test(false, "a signal without the mutex wakes without the lock");
	test(true, "so does a signal by the holder of the mutex");
	/* Once a PI mutex is used, the library's locks make such calls, too. */
	test_mortal(drover_cond_signal,
		    "the condvar may end in the call of a signal");
	test_mortal(drover_cond_broadcast, "in that of a broadcast");
	test_mortal(broadcast_on, "in that of a broadcast on a mutex");
	test_destroy("a signal too many, and a destroy");
	test_many(false, 0, false, "a signal is left to one of many waiters");
	test_many(true, 0, false, "so is one by the holder of the mutex");
	test_many(true, 0, true, "not if a thread waits without a predicate");
	test_many(true, DROVER_MUTEX_PI, false,
		  "nor if the mutex inherits priorities");
	return tap_exit();
}
