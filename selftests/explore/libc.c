// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of the C library that the library under test calls, and its
 * system calls apart from futexes. In the library and the scenarios, the linker
 * replaces calls of the real functions by calls of these (--wrap).
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "engine.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else /* glibc before 2.32 lacks it, and the library does not read it */
static char __libc_single_threaded;
#endif

#define NS_PER_S INT64_C(1000000000)
#define EPOCH_NS (1000 * NS_PER_S) /* CLOCK_REALTIME is ahead by this */
/* Each reading of the clock takes so long, so that polls end after a few. */
#define LOOK_NS 4000

int64_t clock_ns = NS_PER_S;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t ns = clock_ns += LOOK_NS;

	if (clock == CLOCK_REALTIME)
		ns += EPOCH_NS;
	*now = (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
	return 0;
}

struct timespec in_a_while(void)
{
	int64_t ns = clock_ns + 10 * NS_PER_S;

	return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

int __wrap_sched_yield(void)
{
	clock_ns += LOOK_NS;
	if (!quiet)
		step_yield();
	return 0;
}

int __wrap_sched_getcpu(void)
{
	return self ? nr_of(self) : 0;
}

static void interrupt(long tid)
{
	struct fiber *f = &fibers[tid - FIRST_TID];

	if (!f->waits)
		fault("thread %d has left its wait, and gets a signal",
		      nr_of(f));
	if (f->state != ASLEEP || f->asleep.pi || !f->asleep.word)
		return;
	memory_tell(f, self);
	wake_up(f, -EINTR);
}

void waits_now(bool waits)
{
	self->waits = waits;
}

long __wrap_syscall(long nr, ...)
{
	va_list list;
	long first, second;

	va_start(list, nr);
	first = va_arg(list, long);
	second = va_arg(list, long);
	va_end(list);
	(void)first;
	switch (nr) {
	case SYS_gettid:
		return FIRST_TID + nr_of(self);
	case SYS_sched_getscheduler:
		return SCHED_OTHER;
	case SYS_sched_getattr:
	case SYS_sched_setattr:
		errno = ENOSYS;
		return -1;
	case SYS_nanosleep:
		return __wrap_sched_yield();
	case SYS_rt_tgsigqueueinfo:
		caller_pc = __builtin_return_address(0);
		step(true);
		interrupt(second);
		return 0;
	}
	fault("system call %ld is unknown", nr);
}

pid_t __wrap_getpid(void)
{
	return FIRST_TID;
}

/* ---- threads ---- */

pthread_t __wrap_pthread_self(void)
{
	return (pthread_t)(self ? self : fibers);
}

int __wrap_pthread_once(pthread_once_t *once, void (*function)(void))
{
	if (*once)
		return 0;
	*once = 1;
	function();
	return 0;
}

static void (*key_end)(void *value);

int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	*key = 0;
	key_end = end;
	return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	(void)key;
	self->key = (void *)value;
	return 0;
}

void *__wrap_pthread_getspecific(pthread_key_t key)
{
	(void)key;
	return self->key;
}

void libc_end_thread(void)
{
	void *value = self->key;

	self->key = NULL;
	if (value && key_end)
		key_end(value);
}

void fork_here(void *wiped, size_t size)
{
	step(true);
	tell(__builtin_return_address(0), "is alone in the child of a fork");
	memory_see_all();
	fiber_fork();
	memset(wiped, 0, size);
}

int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void),
			  void (*child)(void))
{
	(void)before;
	(void)parent;
	(void)child;
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*main)(void *), void *arg)
{
	struct fiber *f;

	(void)attr;
	f = fiber_start(main, arg);
	if (!f)
		return EAGAIN;
	*thread = (pthread_t)f;
	if (quiet)
		return 0;
	tell(__builtin_return_address(0), "starts thread %d", nr_of(f));
	memory_tell(f, self);
	step(true);
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	struct fiber *f = (struct fiber *)thread;

	step(true);
	if (f->state == ENDED) {
		memory_tell(self, f);
	} else {
		self->state = ASLEEP;
		self->asleep.joins = f;
		self->asleep.deadline = INT64_MAX;
		fall_asleep();
	}
	if (result)
		*result = f->result;
	return 0;
}

int __wrap_pthread_detach(pthread_t thread)
{
	(void)thread;
	return 0;
}

/* The library must not judge how full a fiber's stack is. */
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	(void)thread;
	(void)attr;
	return ENOSYS;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	(void)thread;
	(void)name;
	return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)set;
	(void)old;
	return 0;
}

int __wrap_sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	(void)tid;
	(void)size;
	(void)set;
	return 0;
}

int __wrap_sched_getaffinity(pid_t tid, size_t size, cpu_set_t *set)
{
	(void)tid;
	memset(set, 0xff, size);
	return 0;
}

uintptr_t thread_handle(int nr)
{
	return (uintptr_t)&fibers[nr];
}

void cancel_thread(int nr)
{
	fibers[nr].cancelled = true;
}

bool cancel_pending(void)
{
	return self->cancelled;
}

/* In the drop-in this asks the C library; see the scenarios of cancellation. */
bool __wrap_cancellation_is_due(void)
{
	return self->cancelled;
}

/* ---- memory ---- */

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd,
		  off_t offset)
{
	void *page = world_page();

	(void)at;
	(void)size;
	(void)access;
	(void)flags;
	(void)fd;
	(void)offset;
	return page ? page : MAP_FAILED;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	char *p = world_alloc(128, size + 128);

	(void)align;
	*(size_t *)p = size;
	return p + 128;
}

void *__wrap_malloc(size_t size)
{
	return __wrap_aligned_alloc(16, size);
}

void __wrap_free(void *p)
{
	if (p)
		give_back(p, *(size_t *)((char *)p - 128));
}

/* ---- CPUs: lib/base/cpus.c reads files ---- */

unsigned int cpus_usable_by(pid_t tid)
{
	const char *nr = getenv("EXPLORE_CPUS");

	(void)tid;
	return nr ? (unsigned int)atoi(nr) : 4;
}

unsigned int cpus_usable(void)
{
	/* A constructor calls this; from then on there are several threads. */
	__libc_single_threaded = 0;
	return cpus_usable_by(0);
}

void cpus_look_at_sizes(void)
{
}

bool cpu_is_small(int cpu)
{
	(void)cpu;
	return false;
}
