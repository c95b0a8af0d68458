// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mutex that is held across fork: in the child, its one thread holds what the
 * forking thread held, as an atfork handler needs it. It once could not unlock,
 * for it has another thread id. Shared, PI and robust mutexes stay the
 * parent's.
 */
#include <drover/cond.h>
#include <drover/mutex.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"
#include "tap.h"

static const struct timespec past = { 0, 0 };

static drover_mutex_t *mutex;
static drover_cond_t cond = DROVER_COND_INITIALIZER;
static uint32_t flags;

static void *try_it(void *arg)
{
	int err = drover_mutex_unlock(mutex);

	*(int *)arg = err == EPERM ? drover_mutex_trylock(mutex) : err;
	return NULL;
}

/* Another thread of the child: it may neither unlock nor lock. */
static bool others_are_kept_out(void)
{
	pthread_t thread;
	int result = -1;

	if (!fork_threads_work())
		return true;
	if (pthread_create(&thread, NULL, try_it, &result))
		return false;
	pthread_join(thread, NULL);
	return result == EBUSY;
}

/* Locked twice if it is recursive, or else once. */
static bool use_what_was_held(void)
{
	bool recursive = flags & DROVER_MUTEX_RECURSIVE;

	if (!others_are_kept_out())
		return false;
	if (flags & DROVER_MUTEX_ERRORCHECK &&
	    drover_mutex_lock(mutex) != EDEADLK)
		return false;
	if (recursive && drover_mutex_unlock(mutex))
		return false;
	return drover_cond_timedwait(&cond, mutex, &past) == ETIMEDOUT &&
	       drover_mutex_unlock(mutex) == 0 &&
	       drover_mutex_unlock(mutex) == EPERM &&
	       drover_mutex_lock(mutex) == 0 && drover_mutex_unlock(mutex) == 0;
}

static bool leave_to_the_parent(void)
{
	return drover_mutex_unlock(mutex) == EPERM &&
	       drover_mutex_trylock(mutex) == EBUSY &&
	       drover_cond_timedwait(&cond, mutex, &past) == EPERM;
}

static bool grandchild_uses_it(void)
{
	return child_does(use_what_was_held, "in the child") &&
	       use_what_was_held();
}

static void lock_it(uint32_t with)
{
	const drover_mutexattr_t attr = { .flags = with };

	flags = with;
	if (drover_mutex_init(mutex, &attr) || drover_mutex_lock(mutex) ||
	    (with & DROVER_MUTEX_RECURSIVE && drover_mutex_lock(mutex)))
		tap_bail("flags %#" PRIx32, with);
}

static bool parent_unlocks(void)
{
	return drover_mutex_unlock(mutex) == 0 &&
	       (!(flags & DROVER_MUTEX_RECURSIVE) ||
		drover_mutex_unlock(mutex) == 0);
}

static void test_private(uint32_t with, const char *name)
{
	lock_it(with);
	tap_ok(child_does(use_what_was_held, "in the child"),
	       "%s: held in the child", name);
	tap_ok(child_does(grandchild_uses_it, "in the child"),
	       "%s: and in its child", name);
	tap_ok(parent_unlocks(), "%s: and still in the parent", name);
}

static void test_stays(uint32_t with, const char *name)
{
	lock_it(with);
	tap_ok(child_does(leave_to_the_parent, "in the child"),
	       "%s: not held in the child", name);
	tap_ok(parent_unlocks(), "%s: but in the parent", name);
}

/* The idiom that all this is for. */
static void before_fork(void)
{
	drover_mutex_lock(mutex);
}

static void after_fork(void)
{
	if (drover_mutex_unlock(mutex))
		tap_bail("an atfork handler could not unlock");
}

static bool lock_and_unlock(void)
{
	return drover_mutex_lock(mutex) == 0 && drover_mutex_unlock(mutex) == 0;
}

static void test_atfork(void)
{
	const drover_mutexattr_t attr = { 0 };

	drover_mutex_init(mutex, &attr);
	pthread_atfork(before_fork, after_fork, after_fork);
	tap_ok(child_does(lock_and_unlock, "in the child") && lock_and_unlock(),
	       "atfork handlers lock and unlock");
}

int main(void)
{
	mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tap_plan(3 * 3 + 3 * 2 + 1);
	watchdog("forks with a mutex held");
	test_stays(DROVER_MUTEX_SHARED, "shared");
	mutex = malloc(sizeof(*mutex));
	test_private(0, "normal");
	test_private(DROVER_MUTEX_RECURSIVE, "recursive");
	test_private(DROVER_MUTEX_ERRORCHECK, "error-checking");
	test_stays(DROVER_MUTEX_PI, "PI");
	test_stays(DROVER_MUTEX_ROBUST, "robust");
	test_atfork();
	return tap_exit();
}
