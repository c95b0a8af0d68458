// SPDX-License-Identifier: MIT
/* The threads that use the library: set-up, end, fork, and finding one. */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "group.h"
#include "lock.h"
#include "waiter.h"

_Thread_local struct waiter waiter_this;

uint32_t process_life;

/* All threads that have been set up. */
static struct {
	futex_word lock;
	struct waiter *first; /* [lock] */
} registry;

/* Its destructor tells that a thread ends. */
static pthread_key_t thread_end;
static bool thread_end_valid;

static void waiter_link(struct waiter *w)
{
	w->prev = NULL;
	w->next = registry.first;
	if (w->next)
		w->next->prev = w;
	registry.first = w;
}

static void waiter_unlink(struct waiter *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		registry.first = w->next;
	if (w->next)
		w->next->prev = w->prev;
}

/* The thread's memory may go: nobody may find it any more. */
static void waiter_forget(struct waiter *w)
{
	lock_take(&registry.lock, false);
	waiter_unlink(w);
	lock_drop(&registry.lock, false);
}

void waiter_setup(struct waiter *w)
{
	w->tid = (pid_t)syscall(SYS_gettid);
	w->thread = pthread_self();
	w->ready = true;
	w->listed = true;
	lock_take(&registry.lock, false);
	waiter_link(w);
	lock_drop(&registry.lock, false);
	/* Without word of its end, do without cancelling it while it waits. */
	if (!thread_end_valid || pthread_setspecific(thread_end, w)) {
		waiter_forget(w);
		w->listed = false;
	}
}

/*
 * A destructor that runs after this one may wait on a condvar again: that sets
 * the thread up anew, and this runs once more.
 */
static void waiter_end(void *arg)
{
	struct waiter *w = arg;

	/* The locks need the thread's id: not ready only after the last one. */
	group_drop_spares(w);
	waiter_forget(w);
	w->ready = false;
}

/* In the child of a fork only the calling thread exists. */
static void waiter_after_fork(void)
{
	struct waiter *w = &waiter_this;

	process_life = (process_life + 1) & INT32_MAX;
	store_relaxed(&registry.lock, 0);
	registry.first = NULL;
	group_after_fork();
	if (w->ready) {
		w->tid = (pid_t)syscall(SYS_gettid);
		waiter_link(w);
	}
}

__attribute__((constructor)) static void waiter_start(void)
{
	thread_end_valid = pthread_key_create(&thread_end, waiter_end) == 0;
	pthread_atfork(NULL, NULL, waiter_after_fork);
}

static bool is_inside(const void *barrier)
{
	bool found = false;

	lock_take(&registry.lock, false);
	for (struct waiter *w = registry.first; w && !found; w = w->next)
		found = load_acquire(&w->barrier) == barrier; /* [B-LEAVE] */
	lock_drop(&registry.lock, false);
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

static void kick(struct waiter *w)
{
	struct group *g;
	futex_word *word;

	store_seq_cst(&w->kicking, 1);
	store_seq_cst(&w->kick, 1); /* [W-KICK] */
	g = load_seq_cst(&w->group);
	if (g)
		group_kick(g);
	word = load_seq_cst(&w->shared_word);
	if (word) {
		add_seq_cst(word, 1);
		futex_wake(word, INT_MAX, true);
	}
	store_seq_cst(&w->kicking, 0);
}

void waiter_kick(pthread_t thread)
{
	lock_take(&registry.lock, false);
	for (struct waiter *w = registry.first; w; w = w->next)
		if (pthread_equal(w->thread, thread))
			kick(w);
	lock_drop(&registry.lock, false);
}
