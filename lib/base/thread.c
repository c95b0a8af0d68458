// SPDX-License-Identifier: MIT
/* The ids of a thread. */
#include <sys/syscall.h>

#include "base/thread.h"

_Thread_local struct thread thread_this;

/* How many numbers of threads have been given out. */
static _Atomic uint32_t nr_threads;

struct thread *thread_setup(void)
{
	while (!thread_this.number)
		thread_this.number = add_relaxed(&nr_threads, 1) + 1;
	thread_this.tid = (uint32_t)syscall(SYS_gettid);
	thread_this.libc_id = 0;
	/* The parent's waiter is only in the registry of the parent. */
	thread_this.waiter = NULL;
	thread_this.generation = fork_generation_own();
	return &thread_this;
}
