// SPDX-License-Identifier: MIT
/* The threads that use the library: set-up, end, fork, and finding one. */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cond/cond.h"

_Thread_local struct thread thread_this;

uint32_t process_life;

/* How many numbers of threads have been given out. */
static _Atomic uint32_t nr_threads;

/*
 * All waiters, by a hash of their pthread_t: ten thousand of them make lists of
 * forty. The lock is held across a wake-up (waiter_kick()).
 */
#define NR_BUCKETS 256

static struct bucket {
	futex_word lock;
	struct waiter *first; /* [lock] */
} buckets[NR_BUCKETS];

/* Waiters in nobody's use; a page of them is added when they run out. */
#define WAITERS_PER_CHUNK (CHUNK_BYTES / sizeof(struct waiter))

static struct {
	futex_word lock;
	struct waiter *first; /* [lock] */
} pool;

/* Its destructor tells that a thread ends. */
static pthread_key_t thread_end;
static bool thread_end_valid;
static pthread_once_t started = PTHREAD_ONCE_INIT;

void thread_setup(void)
{
	uint32_t number;

	do
		number = add_relaxed(&nr_threads, 1) + 1;
	while (!number);
	thread_this.number = number;
	thread_this.tid = (pid_t)syscall(SYS_gettid);
}

/* Addresses of threads are alike in their low bits, and often in the high. */
static struct bucket *bucket_of(pthread_t thread)
{
	uint64_t mixed = (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[mixed >> 56];
}

static struct waiter *bucket_find(struct bucket *b, pthread_t thread)
{
	struct waiter *w = b->first;

	while (w && !pthread_equal(w->thread, thread))
		w = w->next;
	return w;
}

static void bucket_link(struct bucket *b, struct waiter *w)
{
	w->prev = NULL;
	w->next = b->first;
	if (w->next)
		w->next->prev = w;
	b->first = w;
}

static void bucket_unlink(struct bucket *b, struct waiter *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		b->first = w->next;
	if (w->next)
		w->next->prev = w->prev;
}

void *map_chunk(void)
{
	int saved = errno;
	void *chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk != MAP_FAILED)
		return chunk;
	errno = saved;
	return NULL;
}

static void pool_put(struct waiter *w)
{
	lock_take(&pool.lock, false);
	w->next = pool.first;
	pool.first = w;
	lock_drop(&pool.lock, false);
}

/* Get WAITERS_PER_CHUNK waiters; all but the one returned go to the pool. */
static struct waiter *pool_grow(void)
{
	struct waiter *chunk = map_chunk();

	for (size_t i = 1; chunk && i < WAITERS_PER_CHUNK; i++)
		pool_put(&chunk[i]);
	return chunk;
}

static struct waiter *pool_get(void)
{
	struct waiter *w;

	lock_take(&pool.lock, false);
	w = pool.first;
	if (w)
		pool.first = w->next;
	lock_drop(&pool.lock, false);
	return w ? w : pool_grow();
}

/* What others have to know of the caller. */
static void waiter_name(struct waiter *w)
{
	w->bit = UINT32_C(1) << (thread_self()->number % 32);
	w->tid = thread_self()->tid;
}

static _Atomic uint32_t nr_waiters;

uint32_t waiters_alive(void)
{
	return load_relaxed(&nr_waiters);
}

/* Where a cancellation finds this thread. Return: NULL without memory. */
static struct waiter *waiter_register(void)
{
	pthread_t self = pthread_self();
	struct bucket *b = bucket_of(self);
	struct waiter *w;

	lock_take(&b->lock, false);
	w = bucket_find(b, self);
	if (w)
		waiter_name(w);
	lock_drop(&b->lock, false);
	/* Left behind by a thread that has ended, perhaps by this one. */
	if (w)
		return w;
	w = pool_get();
	if (!w)
		return NULL;
	w->thread = self;
	waiter_name(w);
	w->listed = true;
	store_relaxed(&w->heir, NULL);
	store_relaxed(&w->call_skip, 0);
	w->call_misses = 0;
	add_relaxed(&nr_waiters, 1);
	policy_watch_anew(w);
	lock_take(&b->lock, false);
	bucket_link(b, w);
	lock_drop(&b->lock, false);
	return w;
}

/*
 * A destructor that runs after this one may wait on a condvar again: that sets
 * the thread up anew, and this runs once more; but for the last time that
 * destructors run, after which the waiter stays where it is, unused.
 */
static void waiter_end(void *arg)
{
	struct waiter *w = arg;
	struct bucket *b = bucket_of(w->thread);

	group_drop_spares(w);
	w->woken_by = NULL;
	lock_take(&b->lock, false);
	bucket_unlink(b, w);
	lock_drop(&b->lock, false);
	thread_this.waiter = NULL;
	add_relaxed(&nr_waiters, -1);
	pool_put(w);
}

/* In the child of a fork only the calling thread exists. */
static void waiter_after_fork(void)
{
	struct waiter *w = thread_this.waiter;

	process_life++;
	memset(buckets, 0, sizeof(buckets));
	memset(&pool, 0, sizeof(pool));
	group_after_fork();
	cond_after_fork();
	if (thread_this.tid)
		thread_this.tid = (pid_t)syscall(SYS_gettid);
	if (w)
		w->tid = thread_this.tid;
	store_relaxed(&nr_waiters, w && w->listed);
	if (w && w->listed)
		bucket_link(bucket_of(w->thread), w);
}

static void waiter_start(void)
{
	thread_end_valid = pthread_key_create(&thread_end, waiter_end) == 0;
	pthread_atfork(NULL, NULL, waiter_after_fork);
}

/* Also done by the first to wait: other constructors may come before this. */
__attribute__((constructor)) static void waiter_start_once(void)
{
	pthread_once(&started, waiter_start);
}

struct waiter *waiter_setup(void)
{
	/* Without memory, do without being found. */
	static _Thread_local struct waiter unfound;
	int saved = errno;
	struct waiter *w;

	waiter_start_once();
	w = waiter_register();
	if (!w) {
		w = &unfound;
		waiter_name(w);
	} else if (thread_end_valid) {
		pthread_setspecific(thread_end, w);
	}
	thread_this.waiter = w;
	errno = saved;
	return w;
}

void waiter_publish(struct waiter *w, futex_word *word)
{
	struct bucket *b = bucket_of(w->thread);

	/* A canceller keeps the lock as long as it uses the last word. */
	lock_take(&b->lock, false);
	w->shared_word = word;
	lock_drop(&b->lock, false);
}

/* Who was inside at first is in its bucket until it has left. */
static bool is_inside(const void *barrier)
{
	bool found = false;

	for (int i = 0; i < NR_BUCKETS && !found; i++) {
		struct bucket *b = &buckets[i];

		lock_take(&b->lock, false);
		for (struct waiter *w = b->first; w && !found; w = w->next)
			found = load_acquire(&w->barrier) ==
				barrier; /* [B-LEAVE] */
		lock_drop(&b->lock, false);
	}
	return found;
}

void waiter_give_way(unsigned int nr_before)
{
	const struct timespec ts = { .tv_nsec = 50000 };
	int saved = errno;

	/* nanosleep() would be a cancellation point. */
	if (nr_before < 16 || syscall(SYS_nanosleep, &ts, NULL))
		sched_yield();
	errno = saved;
}

void waiter_await_barrier(const void *barrier)
{
	for (unsigned int i = 0; is_inside(barrier); i++)
		waiter_give_way(i);
}

/*
 * The signal that glibc keeps for itself to change the user of all threads. It
 * is never blocked, and has a handler as soon as there is a second thread, which
 * ignores what it was not sent for: all but SI_TKILL.
 */
#define SIGNAL_SETXID 33

static bool signal_is_handled(void)
{
	/* As the kernel has it: the handler comes first. */
	uintptr_t action[8] = { 0 };

	return !syscall(SYS_rt_sigaction, SIGNAL_SETXID, NULL, action, 8) &&
	       action[0] != (uintptr_t)SIG_DFL &&
	       action[0] != (uintptr_t)SIG_IGN;
}

void waiter_interrupt(struct group *g)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_pid = getpid() };
	int saved = errno;

	if (!signal_is_handled())
		return;
	add_seq_cst(&g->state, 0); /* [W-INTERRUPT] */
	for (int i = 0; i < NR_BUCKETS; i++) {
		struct bucket *b = &buckets[i];

		lock_take(&b->lock, false);
		for (struct waiter *w = b->first; w; w = w->next)
			if (load_seq_cst(&w->group) == g)
				syscall(SYS_rt_tgsigqueueinfo, info.si_pid,
					w->tid, SIGNAL_SETXID, &info);
		lock_drop(&b->lock, false);
	}
	errno = saved;
}

void waiter_kick(pthread_t thread)
{
	struct bucket *b = bucket_of(thread);
	struct group *g = NULL;
	struct waiter *w;
	uint32_t bit = 0;

	lock_take(&b->lock, false);
	w = bucket_find(b, thread);
	if (w) {
		add_seq_cst(&w->kick, 1); /* [W-KICK] [W-SEEN] */
		g = load_seq_cst(&w->group);
		bit = w->bit;
	}
	if (w && w->shared_word) {
		add_release(w->shared_word, 1); /* [W-LOOK] */
		futex_wake_bits(w->shared_word, INT_MAX, true, bit);
	}
	lock_drop(&b->lock, false);
	/* It may be in other use by now, where a kick does no harm. */
	if (g)
		group_kick(g, bit);
}
