/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * caller.h - a thread that broadcasts to several and then waits for their answer
 *
 *	caller_begin("mutex held", how);
 *	caller_end();
 *	tap_is(caller.nr_sleeps, 0, ...);
 *
 * Its futex calls are counted. No waiter is back before the caller is about to
 * wait, or before it sleeps.
 */
#ifndef DROVER_ATTACK_CALLER_H
#define DROVER_ATTACK_CALLER_H

#include "crew.h"
#include "futex_call.h"
#include "watchdog.h"

#define NR_WAITERS 8

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* Another one to wait for the answer with. */
static api_mutex_t other = API_MUTEX_INITIALIZER;

struct caller {
	/* What it does. */
	bool held;	  /* broadcasts with the mutex held */
	bool each;	  /* signals to each instead */
	bool is_to_sleep; /* no waiter is back before that */
	bool unanswered;
	api_mutex_t *with; /* the mutex of its wait */
	const struct timespec *deadline;

	pthread_t thread;
	atomic_int tid;
	api_cond_t answer;
	int nr_answers; /* [with] */
	/* What came of it. */
	int result;
	int nr_ahead;  /* how many it has woken on a mutex, several at once */
	int nr_sleeps; /* but for those on a mutex */
	atomic_int nr_gathers; /* how often waiters have woken several on one */
	bool was_away;	       /* others had its CPU for long: it may sleep */
};

static struct caller caller;
static struct crew crew; /* those who answer */
static atomic_bool hold_back;
static _Thread_local bool is_caller;

static inline bool is_in(const void *word, const api_mutex_t *m)
{
	return (uintptr_t)word - (uintptr_t)m < sizeof(*m);
}

static inline bool is_in_mutex(const void *word)
{
	return is_in(word, &mutex) || is_in(word, &other);
}

static inline void caller_note(const void *word, int command, uint32_t val)
{
	bool several = command == FUTEX_WAKE && is_in_mutex(word) && val > 1;

	if (several && !is_caller)
		atomic_fetch_add(&caller.nr_gathers, 1);
	if (!is_caller)
		return;
	if (several)
		caller.nr_ahead += (int)val;
	if (command == FUTEX_WAIT_BITSET && !is_in_mutex(word)) {
		caller.nr_sleeps++;
		atomic_store(&hold_back, false);
	}
}

/* Less than what the policy takes for the slice of another one. */
#define LONG_NS INT64_C(500000)

/* What the library calls. */
int sched_yield(void)
{
	static _Thread_local int64_t last;
	int64_t now;

	if (is_caller && !last)
		last = blocked_now_ns();
	syscall(SYS_sched_yield);
	if (!is_caller)
		return 0;
	now = blocked_now_ns();
	if (now - last > LONG_NS)
		caller.was_away = true;
	last = now;
	return 0;
}

long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	long ret;

	caller_note(word, op & FUTEX_CMD_MASK, val);
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	while (!is_caller && atomic_load(&hold_back))
		sched_yield();
	return ret;
}

/* A waiter is back, and has the mutex. */
static inline void caller_answer(struct member *member)
{
	bool another = caller.with != &mutex;

	(void)member;
	if (another)
		api_mutex_lock(caller.with);
	if (++caller.nr_answers == NR_WAITERS && !caller.unanswered)
		api_cond_signal(&caller.answer);
	if (another)
		api_mutex_unlock(caller.with);
}

static inline int caller_wait(void)
{
	if (!caller.deadline)
		return api_cond_wait(&caller.answer, caller.with);
	return api_cond_clockwait(&caller.answer, caller.with, CLOCK_MONOTONIC,
				  caller.deadline);
}

static inline void caller_unlock(void *m)
{
	api_mutex_unlock(m);
}

static inline void caller_release(void)
{
	for (int i = 0; caller.each && i < NR_WAITERS; i++)
		api_cond_signal(&cond);
	if (!caller.each)
		api_cond_broadcast(&cond);
}

/* Afterwards it has the mutex of its wait. */
static inline void caller_call(void)
{
	api_mutex_lock(&mutex);
	if (!caller.held)
		api_mutex_unlock(&mutex);
	caller_release();
	if (!caller.held || caller.with != &mutex)
		api_mutex_lock(caller.with);
	if (caller.held && caller.with != &mutex)
		api_mutex_unlock(&mutex);
}

static inline void *caller_main(void *arg)
{
	is_caller = true;
	atomic_store(&caller.tid, blocked_gettid());
	caller_call();
	pthread_cleanup_push(caller_unlock, caller.with);
	if (!caller.is_to_sleep)
		atomic_store(&hold_back, false);
	caller.result = caller_wait();
	pthread_cleanup_pop(1);
	return arg;
}

/* All are asleep, then the caller begins. */
static inline void caller_begin(const char *what, struct caller how)
{
	const struct member waiter = { .then = caller_answer };

	watchdog(what);
	caller = how;
	crew = crew_of(&cond, &mutex, NR_WAITERS);
	api_cond_init(&caller.answer);
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(crew_start(&crew, &waiter));
	atomic_store(&hold_back, true);
	if (pthread_create(&caller.thread, NULL, caller_main, NULL))
		tap_bail("pthread_create");
}

/* It waits, and nobody has answered: until it counts as a waiter. */
static inline void caller_has_joined(void)
{
	crew_gone(&crew, NR_WAITERS);
	api_mutex_lock(caller.with);
	api_mutex_unlock(caller.with);
}

static inline void caller_end(void)
{
	void *result;

	crew_end(&crew);
	pthread_join(caller.thread, &result);
	if (result == PTHREAD_CANCELED)
		caller.result = ECANCELED;
	api_cond_destroy(&caller.answer);
}

#endif /* DROVER_ATTACK_CALLER_H */
