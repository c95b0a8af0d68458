// SPDX-License-Identifier: GPL-2.0-only
/*
 * The locks inside the library: no thread that sleeps for a lock is forgotten,
 * two threads never have it, and a thread that drops a lock does not touch it
 * any more when the next holder may have freed it. The test also covers the
 * mutex of a thread that was moved, and threads that end in a wait, when they
 * are woken or when they release the mutex.
 *
 * APIs: drover pthread
 */
#include "cond/group.h"
#include "api.h"
#include "blocked.h"

#define NR_THREADS 3
#define NR_ROUNDS  200000

static struct lock lock;
static struct cond *cond;
static pthread_t threads[NR_THREADS];
static api_cond_t own;
static api_mutex_t mutex;
static atomic_int tids[NR_THREADS], nr_through, nr_alike, nr_stopped;
static volatile long entries, exits;
static _Thread_local bool stops_after_wake, ends, ends_unlocking;
static atomic_int destroyer_tid, nr_destroyed;

/* The library calls this function. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	long ret;
	int error;

	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE_BITSET && ends && !nr_stopped) {
		nr_stopped = 1;
		reached(&nr_through, 1);
	}
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	error = errno;
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !ret && ends)
		pthread_exit(NULL);
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE && ends_unlocking)
		pthread_exit(NULL);
	/* The condvar is gone, or destroy waits for its lock's PI futex. */
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE && stops_after_wake)
		wait_until(nr_destroyed ||
				   blocked_in_futex(getpid(), destroyer_tid,
						    &cond->lock.pi) == 1,
			   "destroy neither ends nor sleeps");
	errno = error;
	return ret;
}

/*
 * Start threads one after the other, each of which sleeps on @word; NULL: any.
 */
static void start_asleep(int nr, void *(*run)(void *tid), const void *word)
{
	nr_through = 0;
	for (int i = 0; i < nr; i++) {
		tids[i] = 0;
		threads[i] = thread_of(run, &tids[i]);
		asleep_on(&tids[i], word);
	}
}

static void *take_once(void *arg)
{
	atomic_store((atomic_int *)arg, blocked_gettid());
	lock_take(&lock);
	lock_drop(&lock);
	nr_through++;
	return arg;
}

static void test_sleepers(void)
{
	watchdog("several sleep for one lock");
	lock_take(&lock);
	start_asleep(NR_THREADS, take_once, &lock.word);
	lock_drop(&lock);
	tap_is(wait_at_least(&nr_through, NR_THREADS), 0,
	       "all threads that sleep for a lock get it");
	for (int i = 0; i < NR_THREADS; i++)
		joined(threads[i]);
}

static void *take_often(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		lock_take(&lock);
		if (entries++ != exits)
			nr_alike++;
		exits++;
		lock_drop(&lock);
	}
	return arg;
}

static void test_exclusion(void)
{
	watchdog("several at one lock");
	run_threads(NR_THREADS, take_often);
	tap_ok(nr_alike == 0 && exits == NR_THREADS * NR_ROUNDS,
	       "no two threads have a lock at the same time");
}

static void test_dropped(void)
{
	lock_sleep(&lock);
	tap_is(lock.word != LOCK_FREE, true,
	       "a thread that would sleep for a free lock has it");
	lock_drop(&lock);
}

/* This thread sleeps for the lock before locks inherit priorities. */
static void *destroy(void *arg)
{
	destroyer_tid = blocked_gettid();
	cond_destroy(cond, NULL, __func__);
	munmap(cond, sizeof(*cond));
	nr_destroyed = 1;
	return arg;
}

/*
 * The main thread drops the condvar's lock. The next holder frees the lock
 * before the main thread has returned from its call. @late: the main thread
 * took the lock when locks inherited priorities already, so it has the PI
 * futex, too.
 */
static void test_gone(const char *what, bool late)
{
	watchdog(what);
	lock_pi_used = false;
	destroyer_tid = 0;
	nr_destroyed = 0;
	cond = map_pages(sizeof(*cond));
	cond_init(cond, CLOCK_REALTIME, false);
	cond_lock(cond);
	threads[0] = thread_of(destroy, NULL);
	asleep_on(&destroyer_tid, &cond->lock.word);
	lock_use_pi();
	if (late)
		lock_pi_take(&cond->lock);
	stops_after_wake = true;
	lock_drop(&cond->lock);
	stops_after_wake = false;
	joined(threads[0]);
	tap_ok(1, "%s", what);
}

static void test_priorities(void)
{
	watchdog("priorities");
	lock_pi_used = false;
	MUST(kind_cond_init(&own, false));
	MUST(kind_mutex_init(&mutex, kind_named("PI"), false));
	api_time_out(&own, &mutex);
	tap_ok(lock_pi_used,
	       "after a wait with a PI mutex, locks lend priorities");
	lock_take(&lock);
	tap_is(lock.pi & FUTEX_TID_MASK, (uint32_t)blocked_gettid(),
	       "the holder of a lock has the lock's PI futex");
	lock_drop(&lock);
	tap_is(lock.pi, 0, "a thread that drops a lock drops its PI futex");
}

static void test_moved(void)
{
	futex_word *word;

	MUST(kind_mutex_init(&mutex, kind_named("normal"), false));
	user_mutex_lock(&mutex, true);
	user_mutex_holder(&mutex, &word);
	tap_ok(word && load_relaxed(word) == LOCK_CONTENDED,
	       "a thread that was moved takes a free mutex as contended");
	api_mutex_unlock(&mutex);
}

static void *wait_once(void *tid)
{
	ends = tid == tids;
	api_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	atomic_store((atomic_int *)tid, blocked_gettid());
	api_cond_wait(&own, &mutex);
	pthread_cleanup_pop(1);
	nr_through++;
	return tid;
}

/*
 * A signal wakes the first thread. This thread ends before it has noticed the
 * signal, and leaves it to the other thread. If it @stops before it has woken
 * the other thread, as if it had been killed, the next signal wakes that
 * thread. Neither thread keeps its pin of a private condvar's group.
 */
static void test_woken(const char *what, bool shared, bool stops)
{
	struct group *g = NULL;

	if (skips_cancellation(what))
		return;
	watchdog(what);
	MUST(kind_cond_init(&own, shared));
	MUST(kind_mutex_init(&mutex, kind_named("normal"), shared));
	start_asleep(2, wait_once, NULL);
	if (!shared)
		g = load_relaxed(&((struct cond *)&own)->open);
	nr_stopped = !stops;
	api_cond_signal(&own);
	if (stops) {
		reached(&nr_stopped, 1);
		api_cond_signal(&own);
	}
	joined(threads[0]);
	joined(threads[1]);
	tap_ok(!g || !load_relaxed(&g->refs), "%s", what);
}

/* ---- a thread ends as it releases the mutex ---- */

static bool had_mutex;

static void unlock_after_end(void *unused)
{
	ends_unlocking = false;
	had_mutex = !api_mutex_unlock(&mutex);
}

static void *lock_once(void *tid)
{
	reached(&nr_through, 1);
	atomic_store((atomic_int *)tid, blocked_gettid());
	api_mutex_lock(&mutex);
	api_mutex_unlock(&mutex);
	return tid;
}

static void *end_unlocking(void *tid_of_next)
{
	api_mutex_lock(&mutex);
	pthread_cleanup_push(unlock_after_end, NULL);
	nr_through = 1;
	asleep_on(tid_of_next, &mutex);
	ends_unlocking = true;
	api_cond_wait(&own, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

static void wait_and_signal(void)
{
	tids[1] = 0;
	threads[1] = thread_of(wait_once, &tids[1]);
	asleep_on(&tids[1], NULL);
	api_cond_signal(&own);
	joined(threads[1]);
}

/*
 * Another thread sleeps for the mutex, so the unlock makes a system call. A
 * stale member of the thread that ended would take the second signal.
 */
static void test_unlocking(const char *what, bool shared)
{
	if (API_IS_PTHREAD) {
		tap_skip(what, "the unlock is the C library's");
		return;
	}
	if (skips_cancellation(what))
		return;
	watchdog(what);
	MUST(kind_cond_init(&own, shared));
	MUST(kind_mutex_init(&mutex, kind_named("errorcheck"), shared));
	nr_through = 0;
	tids[0] = 0;
	threads[0] = thread_of(end_unlocking, &tids[0]);
	threads[1] = thread_of(lock_once, &tids[0]);
	joined(threads[0]);
	joined(threads[1]);
	wait_and_signal();
	wait_and_signal();
	tap_ok(had_mutex, "%s", what);
}

int main(int argc, char **argv)
{
	tap_plan(14);
	test_sleepers();
	test_exclusion();
	test_dropped();
	test_gone("a lock goes when its holder without PI futex drops it",
		  false);
	test_gone("a lock goes when its holder with PI futex drops it", true);
	test_priorities();
	test_moved();
	test_woken("a thread that ends when woken passes its signal on", false,
		   false);
	test_woken("the same on a shared condvar", true, false);
	test_woken("a stopped thread passes none on, but the next signal works",
		   true, true);
	test_unlocking("a thread that ends in its unlock is no stale waiter",
		       false);
	test_unlocking("the same on a shared condvar", true);
	return tap_exit();
}
