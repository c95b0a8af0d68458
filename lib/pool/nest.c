// SPDX-License-Identifier: MIT
/*
 * Tasks on top of tasks: a thread that waits for a task which nobody has begun
 * runs it on its own stack, and that task may wait in turn. When half of the stack
 * is in use the next one gets a thread, and so a stack, of its own.
 *
 * That thread stands in for the one that waits: it is the same worker, if that is
 * one, and has its place. So no place is needed that others would have to give,
 * and pool-design.rst's "no circle, no deadlock" holds as without it.
 */
#include "pool/pool.h"

/* What the thread that stands in is given. */
struct apart {
	struct drover_pool *pool;
	struct task *task;
	struct here here; /* of the thread that waits */
};

/*
 * Once for each thread, for the first one the C library reads a file. What was in use
 * at the first look does not count: thread-local memory lies there, too.
 */
static void find_stack(struct here *here, uintptr_t now)
{
	int saved = errno;
	pthread_attr_t attr;
	void *stack;
	size_t size;

	here->stack = UINTPTR_MAX; /* unknown: it is never short */
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &stack, &size) &&
		    now - (uintptr_t)stack < size) {
			here->stack = (uintptr_t)stack;
			here->half = (now - here->stack) / 2;
		}
		pthread_attr_destroy(&attr);
	}
	errno = saved;
}

bool stack_is_short(void)
{
	uintptr_t now = (uintptr_t)__builtin_frame_address(0);
	struct here *here = &pool_here;

	/* How deep the program is before its first wait is not ours to judge. */
	if (!here->top)
		return false;
	if (!here->stack)
		find_stack(here, now);
	/* On a stack that the program has made itself the difference is large. */
	return now - here->stack < here->half;
}

static void *run_apart(void *arg)
{
	struct apart *apart = arg;

	pool_here.worker = apart->here.worker;
	pool_here.top = apart->here.top;
	if (queue_take_all(apart->pool, apart->task))
		task_run(apart->pool, apart->task, false);
	return NULL;
}

int task_run_apart(struct drover_pool *pool, struct task *task)
{
	struct apart apart = { pool, task, pool_here };
	int saved = errno, state, err;
	pthread_attr_t attr;
	pthread_t thread;

	err = pthread_attr_init(&attr);
	if (!err) {
		if (pool->attr.stack)
			pthread_attr_setstacksize(&attr, pool->attr.stack);
		err = pthread_create(&thread, &attr, run_apart, &apart);
		pthread_attr_destroy(&attr);
	}
	if (!err) {
		/* No cancellation point, though pthread_join() is one. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		pthread_join(thread, NULL);
		pthread_setcancelstate(state, &state);
	}
	errno = saved;
	return err ? EAGAIN : 0;
}
