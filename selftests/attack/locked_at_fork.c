// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another thread is inside a condvar, with the library's lock held, when the
 * process forks. That thread is not in the child, where the condvar has to work
 * all the same. The lock is taken by the test, which is linked to the inside.
 */
#include <pthread.h>

/* The member of a group is not the member of a fixture. */
#define member group_member
#include "cond/cond.h"
#undef member

#include "fixture.h"
#include "fake_futex.h"
#include "tap.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct cond *const inside = (struct cond *)&cond;
static atomic_int locked;
static atomic_bool let_go;

static void *hold_lock(void *unused)
{
	(void)unused;
	cond_lock(inside);
	atomic_store(&locked, 1);
	while (!atomic_load(&let_go))
		sched_yield();
	lock_drop(&inside->lock);
	return NULL;
}

/* One waits and is signalled; then nobody is left. */
static bool works(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	fixture_add(&fixture, 1);
	api_cond_signal(&cond);
	fixture_end(&fixture);
	return load_relaxed(&inside->lock.word) == LOCK_FREE &&
	       api_cond_destroy(&cond) == 0;
}

int main(int argc, char **argv)
{
	pthread_t holder;

	args_parse(argc, argv, "");
	tap_plan(2);
	if (!fork_threads_work()) {
		tap_skip("locked by another thread", FORK_THREADS_SKIP);
		tap_skip("and the parent goes on", FORK_THREADS_SKIP);
		return tap_exit();
	}
	fake_futex_start((struct fake_futex){ 0 });
	watchdog("a fork with the lock held");
	if (pthread_create(&holder, NULL, hold_lock, NULL) ||
	    wait_at_least(&locked, 1))
		tap_bail("pthread_create");
	tap_ok(child_does(works, "in the child"),
	       "locked by another thread: free in the child");
	atomic_store(&let_go, true);
	pthread_join(holder, NULL);
	tap_ok(works(), "and the parent goes on");
	return tap_exit();
}
