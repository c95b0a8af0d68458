// SPDX-License-Identifier: MIT
/* The threads that use the library: set-up, end, fork, and finding one. */
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/arena.h"
#include "base/thread.h"

_Thread_local struct thread thread_this;

uint32_t fork_generation = GENERATION_LEAST;
struct lock fork_lock;

/* How many numbers of threads have been given out. */
static _Atomic uint32_t nr_threads;

struct list {
	struct lock lock;
	void *first; /* [lock] */
};

/*
 * All waiters, by a hash of their pthread_t: ten thousand of them make lists of
 * forty. The lock is held across a wake-up (cond_interrupt()).
 */
#define NR_BUCKETS 256
static struct list buckets[NR_BUCKETS];

_Static_assert(sizeof(struct waiter) == ARENA_ITEM, "a cache line each");

/* Its destructor tells that a thread ends. */
static pthread_key_t thread_end;
static bool thread_end_valid;
static pthread_once_t started = PTHREAD_ONCE_INIT;

void thread_setup(void)
{
	do
		thread_this.number = add_relaxed(&nr_threads, 1) + 1;
	while (!thread_this.number);
	thread_this.tid = (uint32_t)syscall(SYS_gettid);
}

/* Addresses of threads are alike in their low bits, and often in the high. */
static struct list *bucket_of(pthread_t thread)
{
	uint64_t mixed = (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[mixed >> 56];
}

struct waiter *waiter_find(pthread_t thread, struct lock **lock)
{
	struct list *b = bucket_of(thread);
	struct waiter *w;

	*lock = &b->lock;
	lock_take(*lock);
	w = b->first;
	while (w && !pthread_equal(w->thread, thread))
		w = w->next;
	return w;
}

void waiter_for_all(void (*each)(struct waiter *w, void *arg), void *arg)
{
	for (struct list *b = buckets; b < buckets + NR_BUCKETS; b++) {
		lock_take(&b->lock);
		for (struct waiter *w = b->first; w; w = w->next)
			each(w, arg);
		lock_drop(&b->lock);
	}
}

static void look_inside(struct waiter *w, void *arg)
{
	const void **object = arg;

	if (load_acquire(&w->inside) == *object) /* [B-LEAVE] */
		*object = NULL;
}

bool waiter_is_inside(const void *object)
{
	waiter_for_all(look_inside, &object);
	return !object;
}

void waiter_publish(struct waiter *w, futex_word *word)
{
	struct lock *lock = &bucket_of(w->thread)->lock;

	/* A canceller keeps the lock as long as it uses the last word. */
	lock_take(lock);
	w->shared_word = word;
	lock_drop(lock);
}

/*
 * A destructor that runs after this one may wait on a condvar again: that sets
 * the thread up anew, and this runs once more; but for the last time that
 * destructors run, after which the waiter stays where it is, unused.
 */
static void waiter_end(void *arg)
{
	struct waiter *w = arg;
	struct list *b = bucket_of(w->thread);
	void **at = &b->first;

	if (w->spare)
		arena_put(ARENA_GROUPS, w->spare);
	w->spare = NULL;
	lock_take(&b->lock);
	while (*at != w)
		at = &((struct waiter *)*at)->next;
	*at = w->next;
	lock_drop(&b->lock);
	thread_this.waiter = NULL;
	arena_put(ARENA_WAITERS, w);
}

/* In the child of a fork only the calling thread exists. */
static void thread_after_fork(void)
{
	struct waiter *w = thread_this.waiter;

	fork_generation = (fork_generation + 1) | GENERATION_LEAST;
	memset(&fork_lock, 0, sizeof(fork_lock));
	memset(buckets, 0, sizeof(buckets));
	arena_after_fork();
	thread_this.owner_id = 0;
	if (thread_this.tid)
		thread_this.tid = (uint32_t)syscall(SYS_gettid);
	if (w) {
		w->tid = thread_this.tid;
		w->next = NULL;
		bucket_of(w->thread)->first = w;
	}
}

/* Or by the first to wait: other constructors may come before this. */
__attribute__((constructor)) static void thread_expect_forks(void)
{
	static atomic_bool expected;

	if (!swap_relaxed(&expected, true))
		pthread_atfork(NULL, NULL, thread_after_fork);
}

/* Not before somebody waits: a program may want all keys that there are. */
static void thread_start(void)
{
	thread_end_valid = pthread_key_create(&thread_end, waiter_end) == 0;
	thread_expect_forks();
}

struct waiter *waiter_setup(void)
{
	pthread_t self = pthread_self();
	struct list *b = bucket_of(self);
	int saved = errno;
	struct lock *lock;
	struct waiter *w;

	pthread_once(&started, thread_start);
	/* Left behind by a thread that has ended, perhaps by this one? */
	w = waiter_find(self, &lock);
	if (!w) {
		w = arena_get(ARENA_WAITERS);
		if (w) {
			w->thread = self;
			w->next = b->first;
			b->first = w;
		}
	}
	if (w) {
		w->bit = UINT32_C(1) << thread_self()->number % WAITER_BITS;
		w->tid = thread_tid();
	}
	lock_drop(lock);
	if (w && thread_end_valid)
		pthread_setspecific(thread_end, w);
	thread_this.waiter = w;
	errno = saved;
	return w;
}

void thread_pause(unsigned int nr_before)
{
	const struct timespec ts = { .tv_nsec = 50000 };
	int saved = errno;

	/* nanosleep() would be a cancellation point. */
	if (nr_before < 16 || syscall(SYS_nanosleep, &ts, NULL))
		sched_yield();
	errno = saved;
}
