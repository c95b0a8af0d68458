// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits at a barrier, or was just released, reads no file: its
 * stack may be the smallest there is. Whoever opens a file is counted here.
 */
#include <drover/barrier.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "blocked.h"
#include "tap.h"

static _Thread_local bool waits;
static atomic_int nr_opened, tid;
static drover_barrier_t barrier;

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (waits)
		atomic_fetch_add(&nr_opened, 1);
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* What is known of a limit gets old within a second. */
static void let_it_get_old(void)
{
	struct timespec more = { 1, 200000000 };

	nanosleep(&more, NULL);
}

static void *wait_for_long(void *b)
{
	waits = true;
	atomic_store(&tid, blocked_gettid());
	drover_barrier_wait(b);
	drover_barrier_set_count(b, 3);
	return NULL;
}

static void test(const char *what, drover_barrier_t *b)
{
	pthread_attr_t attr;
	pthread_t thread;

	watchdog(what);
	atomic_store(&nr_opened, 0);
	atomic_store(&tid, 0);
	let_it_get_old();
	pthread_attr_init(&attr);
#if CHILDREN_MAY_HAVE_THREADS && FRAMES_MAY_UNWIND
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
#endif
	if (pthread_create(&thread, &attr, wait_for_long, b))
		tap_bail("no thread");
	if (wait_at_least(&tid, 1) || wait_blocked(getpid(), tid, NULL))
		tap_bail("it does not sleep");
	drover_barrier_wait(b);
	pthread_join(thread, NULL);
	tap_is(atomic_load(&nr_opened), 0, "%s: files opened", what);
	tap_is(drover_barrier_destroy(b), 0, "%s: destroy", what);
	pthread_attr_destroy(&attr);
}

int main(void)
{
#ifdef DROVER_BARRIER_INITIALIZER
	static drover_barrier_t ready = DROVER_BARRIER_INITIALIZER(2);

	tap_plan(4);
	test("a static initialiser", &ready);
#else
	tap_plan(2);
#endif
	if (drover_barrier_init(&barrier, 2, NULL))
		tap_bail("init");
	test("a long wait", &barrier);
	return tap_exit();
}
