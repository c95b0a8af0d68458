/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * storm.h - everything at once, in rounds, with a ledger
 *
 * Workers wait, some with deadlines of nothing to a few hundred microseconds
 * or with their cancellation on the way; lock the mutex alone; or conduct:
 * signal, broadcast, destroy, interrupt and cancel. Workers are threads, or
 * processes.
 *
 * After the actions of a round nothing new begins: the gate is closed. What is
 * owed by then must come without any help, so nobody touches the mutex or the
 * condvar who does not have to. If nothing goes on any more for @patience
 * seconds, whoever has not arrived at the gate, and does not rightly wait, has
 * been forgotten: a lost wakeup, of the condvar's or of the mutex's.
 */
#ifndef DROVER_SELFTESTS_STORM_H
#define DROVER_SELFTESTS_STORM_H

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "blocked.h"
#include "fake_futex.h"
#include "ledger.h"
#include "target.h"

#define MAX_WORKERS 24

enum role {
	WAITER,	   /* waits in both ways */
	QUITTER,   /* may be cancelled while it waits */
	LOCKER,	   /* uses the mutex alone */
	CONDUCTOR, /* does all the rest */
};

enum worker_state {
	ACTIVE,
	PARKED,	 /* at the closed gate */
	WAITING, /* in a wait that stays */
	GONE,	 /* cancelled */
};

struct wait;

struct worker {
	enum role role;
	unsigned int number; /* changes with every new life */
	pthread_t thread;
	pid_t pid; /* of a process; 0: a thread */
	pid_t tid;
	uint64_t random;
	atomic_int state;
	struct wait *wait; /* under way, or NULL; [mutex] */
	atomic_bool cancelled;
	_Atomic uint32_t last_round;
};

/**
 * struct storm - all in shared memory
 * @gate: futex: the number of the round if it is odd, closed if even
 * @hold_back: nobody may begin to wait just now
 * @nr_steps: changes while anything goes on
 * @conductors: signals share it, a broadcast has it alone
 */
struct storm {
	struct target target;
	struct ledger ledger;
	_Atomic uint32_t gate;
	atomic_bool stop;
	atomic_bool hold_back;
	atomic_uint nr_steps;
	pthread_rwlock_t conductors;
	int nr_workers;
	int patience;
	unsigned int next_number;
	struct worker workers[MAX_WORKERS];
};

static struct storm *storm;

static inline void storm_lock(void)
{
	int err = api_mutex_lock(&storm->target.mutex);

	atomic_fetch_add(&storm->nr_steps, 1);
	if (err)
		ledger_wrong(&storm->ledger, "lock: %s", strerror(err));
	ledger_enter(&storm->ledger);
}

static inline void storm_unlock(void)
{
	int err;

	ledger_exit(&storm->ledger);
	err = api_mutex_unlock(&storm->target.mutex);
	if (err)
		ledger_wrong(&storm->ledger, "unlock: %s", strerror(err));
}

/* Pass the gate, at once or when it opens. Returns false at the end. */
static inline bool storm_gate(struct worker *w)
{
	uint32_t gate;

	atomic_fetch_add(&storm->nr_steps, 1);
	atomic_store(&w->state, ACTIVE);
	for (;;) {
		gate = atomic_load(&storm->gate);
		if (atomic_load(&storm->stop))
			return false;
		if (gate & 1 && (w->role != CONDUCTOR ||
				 gate != atomic_load(&w->last_round)))
			break;
		atomic_store(&w->state, PARKED);
		sys_futex_wait(&storm->gate, 0, gate, NULL);
		atomic_store(&w->state, ACTIVE);
	}
	atomic_store(&w->last_round, gate);
	return true;
}

static inline void storm_dawdle(struct worker *w)
{
	uint32_t how = random_below(&w->random, 8);

	if (how == 0)
		sched_yield();
	for (volatile uint32_t i = 0; how == 1 && i < 2000; i++)
		;
}

/*
 * One wait under way. It becomes one that LEAVES, under the mutex, when it is
 * about to be cancelled.
 */
struct wait {
	struct worker *worker;
	enum wait_kind kind;
	bool timed;
	unsigned long number;
	struct timespec deadline;
	clockid_t clock;
};

static inline void wait_cancelled(void *arg)
{
	struct wait *wait = arg;

	wait->worker->wait = NULL;
	ledger_enter(&storm->ledger);
	if (wait->kind == STAYS)
		ledger_wrong(&storm->ledger,
			     "wait %lu was cancelled, but had "
			     "been unblocked before",
			     wait->number);
	ledger_leave(&storm->ledger, wait->number);
	storm_unlock();
	atomic_store(&wait->worker->state, GONE);
}

static inline int wait_call(struct wait *wait)
{
	struct target *t = &storm->target;

	if (!wait->timed)
		return api_cond_wait(t->cond, &t->mutex);
	if (wait->clock == CLOCK_REALTIME)
		return api_cond_timedwait(t->cond, &t->mutex, &wait->deadline);
	return api_cond_clockwait(t->cond, &t->mutex, wait->clock,
				  &wait->deadline);
}

static inline void wait_account(struct wait *wait, int err)
{
	struct ledger *l = &storm->ledger;

	if (err == 0)
		ledger_return(l, wait->number, wait->kind);
	else if (err != ETIMEDOUT || !wait->timed)
		ledger_wrong(l, "a wait returned %s", strerror(err));
	else if (!deadline_passed(wait->clock, &wait->deadline))
		ledger_wrong(l, "a wait timed out before its deadline");
	else
		ledger_leave(l, wait->number);
}

/* With the mutex held; a cancellation acts in here only. */
static inline void wait_once(struct wait *wait)
{
	bool quitter = wait->worker->role == QUITTER;
	int err, state = 0;

	wait->number = ledger_begin(&storm->ledger, wait->kind);
	ledger_exit(&storm->ledger);
	wait->worker->wait = wait;
	if (wait->kind == STAYS)
		atomic_store(&wait->worker->state, WAITING);
	pthread_cleanup_push(wait_cancelled, wait);
	if (quitter)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	err = wait_call(wait);
	if (quitter)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_cleanup_pop(0);
	wait->worker->wait = NULL;
	atomic_store(&wait->worker->state, ACTIVE);
	ledger_enter(&storm->ledger);
	wait_account(wait, err);
}

static inline void worker_wait(struct worker *w)
{
	bool timed = w->role == WAITER && random_below(&w->random, 4) == 0;
	struct wait wait = {
		.worker = w,
		.kind = timed ? LEAVES : STAYS,
		.timed = timed,
		.clock = random_below(&w->random, 2) ? CLOCK_REALTIME :
						       CLOCK_MONOTONIC,
	};
	int64_t ns = random_below(&w->random, 3) ?
			     random_below(&w->random, 300000) :
			     random_below(&w->random, 5000);

	storm_lock();
	if (atomic_load(&w->cancelled))
		wait.kind = LEAVES;
	if (!atomic_load(&storm->hold_back) && !atomic_load(&storm->stop)) {
		wait.deadline = deadline_in(wait.clock, ns - 1000);
		wait_once(&wait);
	}
	storm_dawdle(w);
	storm_unlock();
}

static inline void worker_use_mutex(struct worker *w)
{
	struct target *t = &storm->target;
	struct timespec soon;
	int err = 0;

	switch (random_below(&w->random, 4)) {
	case 0:
		err = api_mutex_trylock(&t->mutex);
		break;
	case 1:
		soon = deadline_in(CLOCK_REALTIME,
				   random_below(&w->random, 100000));
		err = kind_timedlock(&t->mutex, &soon);
		break;
	default:
		err = api_mutex_lock(&t->mutex);
	}
	if (err)
		return;
	ledger_enter(&storm->ledger);
	storm_dawdle(w);
	storm_unlock();
}

void worker_conduct(struct worker *w);

static inline void worker_end(struct worker *w)
{
	atomic_store(&w->state, GONE);
}

static inline void *worker_main(void *arg)
{
	struct worker *w = arg;
	int state;

	w->tid = blocked_gettid();
	fake_futex_thread(w->number);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (storm_gate(w) && !atomic_load(&w->cancelled)) {
		switch (w->role) {
		case WAITER:
		case QUITTER:
			worker_wait(w);
			break;
		case LOCKER:
			worker_use_mutex(w);
			break;
		case CONDUCTOR:
			worker_conduct(w);
			break;
		}
		storm_dawdle(w);
	}
	worker_end(w);
	return NULL;
}

/* A worker comes to life, for the first time or again. */
static inline void worker_start(struct worker *w)
{
	pid_t pid;

	w->number = ++storm->next_number;
	atomic_store(&w->state, ACTIVE);
	atomic_store(&w->cancelled, false);
	if (!storm->target.shared) {
		if (pthread_create(&w->thread, NULL, worker_main, w))
			tap_bail("pthread_create");
		return;
	}
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid) {
		w->pid = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	worker_main(w);
	_exit(0);
}

static inline void worker_join(struct worker *w)
{
	if (w->pid)
		waitpid(w->pid, NULL, 0);
	else
		pthread_join(w->thread, NULL);
}

#endif /* DROVER_SELFTESTS_STORM_H */
