// SPDX-License-Identifier: MIT
/* The ids of a thread. */
#include <sys/syscall.h>

#include "base/thread.h"

_Thread_local struct thread thread_this;

/* How many numbers of threads have been given out. */
static _Atomic uint32_t nr_threads;

void thread_setup(void)
{
	do
		thread_this.number = add_relaxed(&nr_threads, 1) + 1;
	while (!thread_this.number);
	thread_this.tid = (uint32_t)syscall(SYS_gettid);
}

void thread_after_fork(void)
{
	thread_this.libc_id = 0;
	if (thread_this.tid)
		thread_this.tid = (uint32_t)syscall(SYS_gettid);
}
