/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed.h - the workers of cond_mixed, their waits, and how waits are accounted
 * for
 *
 * A box is a condvar with a ledger of its own. Waiters choose a box anew for
 * each wait. Workers are threads, or with API_SHARED processes.
 */
#pragma once

#include <sys/prctl.h>

#include "run.h"
#include "blocked.h"
#include "futex_call.h"
#include "api.h"
#include "ledger.h"
#include "words.h"

/*
 * Is there a layer over the kernel's futex that is late and refuses requeues?
 */
#ifdef DROVER_FAKE_FUTEX
#include "fake_futex.h"
#define ATTACKED true
#else
#define ATTACKED false

static inline void fake_futex_thread(unsigned int nr)
{
}
#endif

#ifdef API_SHARED
#define PROCESSES true
#else
#define PROCESSES false
#endif

#define MAX_THREADS 200
#define MAX_BOXES   4
#define NR_CONDS    8 /* the condvars of one box, one after the other */

#define CAN_CANCEL (API_IS_PTHREAD && FRAMES_MAY_UNWIND && !PROCESSES)

/**
 * struct box - a condvar; two of them use one mutex
 * @cond: the condvar in use; another one takes its place when it was destroyed
 * @conds: the condvars of processes, which must stay in shared memory
 * @closed: no worker begins to wait or signals here until no return is owed,
 *	    and while a broadcast is on its way without the mutex. It is a
 *	    futex. A thread that locks the mutex after a change sees the new
 *	    value.
 */
struct box {
	api_cond_t *cond; /* [mutex] */
	api_cond_t conds[NR_CONDS];
	unsigned int nr_conds;
	api_mutex_t *mutex;
	struct ledger ledger;
	_Atomic uint32_t closed;
};

enum worker_state {
	ACTIVE,
	WAITING, /* in a wait that STAYS, see ledger.h */
	ENDED,
};

struct worker {
	_Alignas(64) pthread_t thread;
	void (*act)(struct worker *worker);
	atomic_bool *stop;
	uint64_t random;
	atomic_int pid, tid;
	atomic_int state;
	atomic_bool cancelled;
	atomic_ulong nr_steps;
	atomic_ulong nr_pairs;
	/* The box of its wait: set and cleared under the mutex of that box. */
	_Atomic(struct box *) box;
	/* The kind of its wait: under that mutex, too. */
	enum wait_kind kind;
	bool timed;
	bool released; /* it was unblocked before it was cancelled */
	unsigned long number;
	struct timespec deadline;
	clockid_t clock;
};

/* One round, in shared memory. */
struct mixed {
	int nr_boxes, nr_workers, nr_signallers;
	bool shared;
	const struct mutex_kind *kind;
	atomic_bool stop_signals, stop_waits;
	api_mutex_t mutexes[MAX_BOXES / 2];
	struct box boxes[MAX_BOXES];
	/* The signallers come first. */
	struct worker workers[MAX_THREADS];
};

static struct mixed *mixed;

/*
 * Make another condvar for a box. A condvar of threads lies in a page of its
 * own, which is unmapped when the condvar is destroyed, so a later access gets
 * SIGSEGV. A condvar of processes is filled with bytes that no condvar has.
 */
static inline void box_new_cond(struct box *box)
{
	box->cond = mixed->shared ? &box->conds[box->nr_conds++ % NR_CONDS] :
				    map_pages(sizeof(*box->cond));
	MUST(kind_cond_init(box->cond, mixed->shared));
}

static inline void box_lock(struct box *box)
{
	int err = api_mutex_lock(box->mutex);

	if (err)
		ledger_wrong(&box->ledger, "lock: %s", strerror(err));
	ledger_enter(&box->ledger);
}

static inline void box_unlock(struct box *box)
{
	int err;

	ledger_exit(&box->ledger);
	err = api_mutex_unlock(box->mutex);
	if (err)
		ledger_wrong(&box->ledger, "unlock: %s", strerror(err));
}

static inline struct box *some_box(struct worker *w)
{
	return &mixed->boxes[random_below(&w->random, mixed->nr_boxes)];
}

/* Sleep while a word has this value. */
static inline void doze(void *word, uint32_t value)
{
	sys_futex_wait(word, PROCESSES ? 0 : FUTEX_PRIVATE_FLAG, value, NULL);
}

static inline void rouse(void *word, int nr)
{
	sys_futex_wake(word, PROCESSES ? 0 : FUTEX_PRIVATE_FLAG, nr);
}

/* The worker that closed the box may wait until no return is owed any more. */
static inline void wait_has_ended(struct box *box)
{
	if (box->closed && !box->ledger.owed)
		rouse(&box->ledger.owed, 1);
}

static inline void wait_cancelled(void *worker)
{
	struct worker *w = worker;
	struct box *box = w->box;
	struct ledger *l = &box->ledger;

	w->box = NULL;
	ledger_enter(l);
	if (w->kind == STAYS || w->released)
		ledger_wrong(l, "wait %lu was cancelled, but unblocked before",
			     w->number);
	ledger_leave(l, w->number);
	wait_has_ended(box);
	box_unlock(box);
	w->state = ENDED;
}

static inline void wait_account(struct worker *w, struct ledger *l, int err)
{
	if (err == 0) {
		ledger_return(l, w->number, w->kind);
		w->nr_pairs++;
		return;
	}
	if (err != ETIMEDOUT || !w->timed)
		ledger_wrong(l, "a wait returned %s", strerror(err));
	else if (!deadline_passed(w->clock, &w->deadline))
		ledger_wrong(l, "a wait timed out before its deadline");
	ledger_leave(l, w->number);
}

/* One in eight waits has a deadline. Return: 0 if the wait was unblocked. */
static inline int wait_once(struct worker *w, struct box *box)
{
	uint32_t ns, how = random_below(&w->random, 32);
	int err, ignored;

	ns = random_below(&w->random, 3) ? 5000 : 200000;
	w->timed = how < 4;
	w->kind = w->timed ? LEAVES : STAYS;
	w->clock = how ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	w->deadline = deadline_in(w->clock, random_below(&w->random, ns));
	w->number = ledger_begin(&box->ledger, w->kind);
	ledger_exit(&box->ledger);
	w->box = box;
	if (!w->timed)
		w->state = WAITING;
	pthread_cleanup_push(wait_cancelled, w);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	err = w->timed ? api_cond_clockwait(box->cond, box->mutex, w->clock,
					    &w->deadline) :
			 api_cond_wait(box->cond, box->mutex);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	w->box = NULL;
	w->state = ACTIVE;
	ledger_enter(&box->ledger);
	wait_account(w, &box->ledger, err);
	wait_has_ended(box);
	return err;
}

/* Called with the mutex held. */
static inline void dawdle(struct worker *w)
{
	if (ATTACKED && random_below(&w->random, 8) == 0)
		sched_yield();
}

/* Use the mutex without the condvar. */
static inline void use_mutex(struct worker *w, struct box *box)
{
	struct timespec soon = deadline_in(CLOCK_REALTIME, 50000);
	bool tries = random_below(&w->random, 2);
	int err = tries ? api_mutex_trylock(box->mutex) :
			  kind_timedlock(box->mutex, &soon);

	if (err) {
		if (err != (tries ? EBUSY : ETIMEDOUT))
			ledger_wrong(&box->ledger, "%s of a mutex: %s",
				     tries ? "trylock" : "timedlock",
				     strerror(err));
		return;
	}
	ledger_enter(&box->ledger);
	dawdle(w);
	box_unlock(box);
}

/* Return: was the wait unblocked? */
static inline bool wait_in(struct box *box, struct worker *w)
{
	bool closed, unblocked = false;

	box_lock(box);
	closed = box->closed;
	if (!mixed->stop_waits && !closed)
		unblocked = !wait_once(w, box);
	dawdle(w);
	box_unlock(box);
	if (closed)
		doze(&box->closed, true);
	return unblocked;
}

static inline void *worker_main(void *arg)
{
	struct worker *w = arg;
	int ignored;

	fake_futex_thread(1 + (w - mixed->workers));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	w->pid = getpid();
	w->tid = blocked_gettid();
	while (!atomic_load(w->stop) && !w->cancelled) {
		w->act(w);
		w->nr_steps++;
	}
	w->state = ENDED;
	return NULL;
}

/* Start a worker, for the first time or again. */
static inline void worker_start(struct worker *w)
{
	pid_t pid;

	w->state = ACTIVE;
	w->cancelled = false;
	if (!PROCESSES) {
		start_thread(&w->thread, worker_main, w);
		return;
	}
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	worker_main(w);
	_exit(0);
}
