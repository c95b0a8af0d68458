// SPDX-License-Identifier: MIT
/*
 * Tasks on top of tasks: a thread that waits for a task which no thread has
 * begun runs the task on its own stack, and that task may wait in turn. When
 * half of the stack is in use, the next task gets a thread, and so a stack, of
 * its own.
 *
 * The new thread stands in for the thread that waits. If that thread is a
 * worker, the new thread counts as the same worker and has its place. The new
 * thread needs no place of another worker, so "no circle, no deadlock" of
 * pool-design.rst still holds.
 */
#include "pool/pool.h"

/* The argument of the thread that stands in. */
struct apart {
	struct drover_pool *pool;
	struct task *task;
	struct here here; /* of the thread that waits */
};

/*
 * Find the lowest address of the caller's stack. This is done once for each
 * thread, since for the process's first thread the C library reads a file. The
 * part that is in use now is left out, because thread-local memory lies there.
 */
static void find_stack(struct here *here, uintptr_t now)
{
	int saved = errno;
	pthread_attr_t attr;
	void *stack;
	size_t size;

	here->stack = UINTPTR_MAX; /* not known: it never counts as short */
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

	/* Outside of tasks the depth of the stack is the program's affair. */
	if (!here->top)
		return false;
	if (!here->stack)
		find_stack(here, now);
	/*
	 * On a stack that the program has made itself the difference is large,
	 * so such a stack never counts as short.
	 */
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
		/*
		 * pthread_join() is a cancellation point, and no function of a
		 * pool may be one.
		 */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		pthread_join(thread, NULL);
		pthread_setcancelstate(state, &state);
	}
	errno = saved;
	return err ? EAGAIN : 0;
}
