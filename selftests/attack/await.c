// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal wakes a thread that waits with a predicate. During the system call
 * the signaller does not have the condvar's lock. Other threads, which hold the
 * mutex, take this lock when they begin or end a wait. When they had to wait
 * for the system call, a pool with 16 workers took four times as long.
 */
#include <drover/cond.h>

#include "cond/group.h"
#include "blocked.h"
#include "run.h"

static drover_cond_t cond;
static drover_mutex_t mutex;
static bool is_open; /* with the mutex */
static _Thread_local bool signals;
static int nr_wakes, nr_with_lock;

/* The library calls this function. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	struct cond *c = (struct cond *)&cond;

	if (signals && (op & FUTEX_CMD_MASK) == FUTEX_WAKE) {
		nr_wakes++;
		nr_with_lock += load_relaxed(&c->lock.word) != LOCK_FREE;
	}
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static bool is_true(void *unused)
{
	return is_open;
}

static void *wait_main(void *tid)
{
	drover_mutex_lock(&mutex);
	atomic_store((atomic_int *)tid, gettid());
	tap_must(drover_cond_await(&cond, &mutex, is_true, NULL), "await");
	drover_mutex_unlock(&mutex);
	return NULL;
}

static void test(bool held, const char *what)
{
	atomic_int tid = 0;
	pthread_t thread;

	watchdog(what);
	nr_wakes = nr_with_lock = 0;
	is_open = false;
	thread = thread_of(wait_main, &tid);
	asleep_on(&tid, NULL);
	drover_mutex_lock(&mutex);
	is_open = true;
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

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(2);
	test(false, "a signal without the mutex wakes without the lock");
	test(true, "so does a signal by the holder of the mutex");
	return tap_exit();
}
