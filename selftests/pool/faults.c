// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory or a thread is refused, once in each place where the library asks: the
 * call says so and has changed nothing, or does with less; what was accepted runs,
 * and nothing hangs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR	 1000
#define MOST	 100
#define NR_POSTS 3

static drover_pool_t *pool;
static atomic_int left = -1; /* before the one that fails */
static atomic_int gate, nr_begun, waiter_tid, nr_run, nr_waits_failed;
static int nr_accepted;

static bool fails(void)
{
	return atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0;
}

/* What the library calls: the program's come before the C library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*begin)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *),
				void *))dlsym(RTLD_NEXT, "pthread_create");
	return fails() ? EAGAIN : real(thread, attr, begin, arg);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *memory;

	return fails() || posix_memalign(&memory, alignment, bytes) ? NULL :
								      memory;
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}
#endif

static int count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_run, 1);
	return 0;
}

static int hold(void *arg)
{
	atomic_fetch_add(&nr_begun, 1);
	if (wait_at_least(&gate, 1))
		tap_bail("the gate stays shut");
	return count(arg);
}

static int wait_for(void *arg)
{
	int err;

	atomic_store(&waiter_tid, blocked_gettid());
	while ((err = drover_pool_wait(pool, arg, NULL)) == EAGAIN)
		sched_yield();
	atomic_fetch_add(&nr_waits_failed, err != 0);
	return count(arg);
}

/* A worker waits for a task of the other one: a third thread is to be had. */
static void waits(void)
{
	drover_task_t held = DROVER_TASK_INITIALIZER(hold, NULL);
	drover_task_t waiting = DROVER_TASK_INITIALIZER(wait_for, &held);

	atomic_store(&gate, 0);
	atomic_store(&nr_begun, 0);
	atomic_store(&waiter_tid, 0);
	drover_pool_submit(pool, &held);
	if (wait_at_least(&nr_begun, 1))
		tap_bail("a task does not begin");
	drover_pool_submit(pool, &waiting);
	nr_accepted += 2;
	if (wait_at_least(&waiter_tid, 1) ||
	    wait_blocked(getpid(), atomic_load(&waiter_tid), NULL))
		tap_bail("a wait does not sleep");
	for (int i = 0; i < NR_POSTS; i++)
		nr_accepted += !drover_pool_post(pool, count, NULL);
	atomic_store(&gate, 1);
	drover_pool_wait_all(pool);
}

static int add(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	(void)arg;
	*(long *)part->scratch += end - begin;
	return 0;
}

static void join(void *total, const void *scratch, void *arg)
{
	(void)arg;
	*(long *)total += *(const long *)scratch;
}

static bool loop_is_right(void)
{
	long total = 0;
	drover_loop_t loop = { .function = add,
			       .scratch = sizeof(total),
			       .total = &total,
			       .join = join };
	int err = drover_pool_loop(pool, 0, NR, &loop);

	return err ? err == ENOMEM && !total : total == NR;
}

/* Was all as it should be? */
static bool life(void)
{
	cpu_set_t all;
	drover_poolattr_t attr = { .workers = 2,
				   .cpu_sets = &all,
				   .nr_cpu_sets = 1 };
	bool right;
	int err;

	sched_getaffinity(0, sizeof(all), &all);
	atomic_store(&nr_run, 0);
	nr_accepted = 0;
	err = drover_pool_create(&pool, &attr);
	if (err)
		return err == ENOMEM || err == EAGAIN;
	waits();
	right = loop_is_right();
	err = drover_pool_resize(pool, 5);
	right &= !err || err == ENOMEM || err == EAGAIN;
	waits();
	right &= atomic_load(&nr_run) == nr_accepted;
	pool_end(pool, DROVER_POOL_DRAIN);
	return right;
}

int main(void)
{
	int nr = 0, nr_wrong = 0;

	tap_plan(3);
	for (; nr < MOST; nr++) {
		watchdog("a fault");
		atomic_store(&left, nr);
		if (!life()) {
			tap_diag("fault %d: %d of %d tasks ran", nr,
				 atomic_load(&nr_run), nr_accepted);
			nr_wrong++;
		}
		if (atomic_load(&left) >= 0)
			break;
	}
	atomic_store(&left, -1);
	tap_is(nr_wrong, 0, "with each fault all was as it should be");
	tap_is(atomic_load(&nr_waits_failed), 0, "no wait failed for good");
	tap_ok(nr > 8 && nr < MOST, "%d places", nr);
	return tap_exit();
}
