// SPDX-License-Identifier: MIT
/* The threads that use the library: set-up, end, fork, and finding one. */
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/thread.h"

_Thread_local struct thread thread_this;

uint32_t fork_generation = GENERATION_LEAST;
struct lock fork_lock;

/* How many numbers of threads have been given out. */
static _Atomic uint32_t nr_threads;

struct list {
	struct lock lock;
	void *first; /* [lock]; a free one begins with a pointer to the next */
};

/*
 * All waiters, by a hash of their pthread_t: ten thousand of them make lists of
 * forty. The lock is held across a wake-up (cond_interrupt()).
 */
#define NR_BUCKETS 256
static struct list buckets[NR_BUCKETS];

/* Memory in nobody's use; a page is added when a list runs out. */
#define PAGE_BYTES 4096
static struct list free_waiters, free_spares;

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

static void list_put(struct list *list, void *item)
{
	lock_take(&list->lock);
	*(void **)item = list->first;
	list->first = item;
	lock_drop(&list->lock);
}

/* Return: NULL without memory. */
APART static void *list_get(struct list *list, size_t bytes)
{
	int saved = errno;
	char *page = MAP_FAILED;
	void *item;

	lock_take(&list->lock);
	if (unlikely(!list->first))
		page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t at = 0; page != MAP_FAILED && at + bytes <= PAGE_BYTES;
	     at += bytes) {
		*(void **)(page + at) = list->first;
		list->first = page + at;
	}
	item = list->first;
	if (item)
		list->first = *(void **)item;
	lock_drop(&list->lock);
	errno = saved;
	return item;
}

void *spare_get(struct waiter *w)
{
	void *spare = w->spare;

	w->spare = NULL;
	return likely(spare) ? spare : list_get(&free_spares, SPARE_BYTES);
}

void spare_put(struct waiter *w, void *spare)
{
	if (likely(w && !w->spare))
		w->spare = spare;
	else
		list_put(&free_spares, spare);
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
		list_put(&free_spares, w->spare);
	w->spare = NULL;
	lock_take(&b->lock);
	while (*at != w)
		at = &((struct waiter *)*at)->next;
	*at = w->next;
	lock_drop(&b->lock);
	thread_this.waiter = NULL;
	list_put(&free_waiters, w);
}

/* In the child of a fork only the calling thread exists. */
static void thread_after_fork(void)
{
	struct waiter *w = thread_this.waiter;

	fork_generation = (fork_generation + 1) | GENERATION_LEAST;
	memset(&fork_lock, 0, sizeof(fork_lock));
	memset(buckets, 0, sizeof(buckets));
	memset(&free_waiters, 0, sizeof(free_waiters));
	memset(&free_spares, 0, sizeof(free_spares));
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
		w = list_get(&free_waiters, sizeof(*w));
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
