// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits at a barrier, or was just released, reads no file: its
 * stack may be the smallest there is. Whoever opens a file is counted here.
 */
#include <drover/barrier.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "blocked.h"

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
		nr_opened++;
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void *wait_for_long(void *b)
{
	waits = true;
	tid = blocked_gettid();
	drover_barrier_wait(b);
	drover_barrier_set_count(b, 3);
	return NULL;
}

static void test(const char *what, drover_barrier_t *b)
{
	pthread_attr_t attr;
	pthread_t thread;

	watchdog(what);
	nr_opened = 0;
	tid = 0;
	/* What is known of a limit gets old within a second. */
	nanosleep(&(struct timespec){ 1, 200000000 }, NULL);
	pthread_attr_init(&attr);
#if CHILDREN_MAY_HAVE_THREADS && FRAMES_MAY_UNWIND
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
#endif
	MUST(pthread_create(&thread, &attr, wait_for_long, b));
	reached(&tid, 1);
	asleep(tid);
	drover_barrier_wait(b);
	joined(thread);
	tap_is(nr_opened, 0, "%s: files opened", what);
	tap_is(drover_barrier_destroy(b), 0, "%s: destroy", what);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	static drover_barrier_t ready = DROVER_BARRIER_INITIALIZER(2);

	tap_plan(4);
	test("a static initialiser", &ready);
	MUST(drover_barrier_init(&barrier, 2, NULL));
	test("a long wait", &barrier);
	return tap_exit();
}
