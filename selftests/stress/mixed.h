/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed.h - the workers of cond_mixed, how they wait, and how that is accounted
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

/* Is there a layer over the kernel's futex that is late, and refuses? */
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
#define NR_CONDS    8 /* of one box, one after the other */

#define CAN_CANCEL (API_IS_PTHREAD && FRAMES_MAY_UNWIND && !PROCESSES)

/**
 * struct box - a condvar; two of them use one mutex
 * @cond: the one in use; others come when it has been destroyed
 * @conds: those of processes, which must stay where all see them
 * @hold_back: a broadcast is on its way without the mutex: nobody may begin to
 *	       wait, signal or broadcast; changes under the mutex; a futex
 * @stopped: nobody begins anything new here, until nothing is owed; a futex
 * @since: since when it is stopped, by watched_ns, or 0
 */
struct box {
	api_cond_t *cond; /* [mutex] */
	api_cond_t conds[NR_CONDS];
	unsigned int nr_conds;
	api_mutex_t *mutex;
	struct ledger ledger;
	_Atomic uint32_t hold_back;
	_Atomic uint32_t stopped;
	_Atomic int64_t since;
};

enum worker_state {
	ACTIVE,
	WAITING, /* in a wait that stays */
	ENDED,
};

struct wait;

struct worker {
	_Alignas(64) pthread_t thread;
	pid_t pid; /* of a process; 0: a thread */
	void (*act)(struct worker *worker);
	atomic_bool *stop;
	uint64_t random;
	atomic_int tid;
	atomic_int state;
	atomic_bool cancelled;
	struct wait *wait; /* [mutex of its box] */
	/* Where it waits: set and cleared under the mutex of that box. */
	_Atomic(struct box *) box;
	atomic_ulong nr_steps;
	atomic_ulong nr_pairs;
};

/* One wait under way. */
struct wait {
	struct worker *worker;
	struct box *box;
	enum wait_kind kind;
	bool timed;
	bool released; /* before it was cancelled */
	unsigned long number;
	struct timespec deadline;
	clockid_t clock;
};

/**
 * struct mixed - one round, in shared memory
 * @watched_ns: for how long the workers have been watched; never 0
 * @arrivals: futex: waits that stay and have begun, in all boxes
 * @nr_idle: signallers that sleep until there is one more
 */
struct mixed {
	int nr_boxes, nr_workers, nr_signallers;
	_Atomic int64_t watched_ns;
	bool shared;
	const struct mutex_kind *kind;
	atomic_bool stop_signals, stop_waits;
	_Atomic uint32_t arrivals;
	atomic_int nr_idle;
	api_mutex_t mutexes[MAX_BOXES / 2];
	struct box boxes[MAX_BOXES];
	/* The signallers first. */
	struct worker workers[MAX_THREADS];
};

static struct mixed *mixed;

/*
 * Another condvar for a box. One of threads lies in a page of its own, which is
 * gone when it is destroyed: who touches it later gets SIGSEGV. One of processes
 * is filled with bytes that no condvar has.
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

/* Signallers with nobody to signal to look again, when there are some. */
static inline void wait_has_begun(struct box *box)
{
	uint32_t nr = atomic_fetch_add(&mixed->arrivals, 1);
	bool some = nr % (1 + mixed->nr_workers / 8) == 0;

	if (!some && box->ledger.owed)
		return;
	if (mixed->nr_idle)
		rouse(&mixed->arrivals, 1);
}

/* Who has stopped the box wants to know when nothing is owed any more. */
static inline void wait_has_ended(struct box *box)
{
	if (box->stopped && !box->ledger.owed)
		rouse(&box->ledger.owed, 1);
}

static inline void wait_cancelled(void *arg)
{
	struct wait *wait = arg;
	struct ledger *l = &wait->box->ledger;

	wait->worker->box = NULL;
	ledger_enter(l);
	if (wait->kind == STAYS || wait->released)
		ledger_wrong(l, "wait %lu was cancelled, but unblocked before",
			     wait->number);
	ledger_leave(l, wait->number);
	wait_has_ended(wait->box);
	box_unlock(wait->box);
	wait->worker->state = ENDED;
}

static inline void wait_account(struct wait *wait, int err)
{
	struct ledger *l = &wait->box->ledger;

	if (err == 0) {
		ledger_return(l, wait->number, wait->kind);
		wait->worker->nr_pairs++;
		return;
	}
	if (err != ETIMEDOUT || !wait->timed)
		ledger_wrong(l, "a wait returned %s", strerror(err));
	else if (!deadline_passed(wait->clock, &wait->deadline))
		ledger_wrong(l, "a wait timed out before its deadline");
	ledger_leave(l, wait->number);
}

/* Returns 0 if it was unblocked. */
static inline int wait_once(struct wait *wait)
{
	struct worker *w = wait->worker;
	struct box *box = wait->box;
	int err, ignored;

	wait->number = ledger_begin(&box->ledger, wait->kind);
	ledger_exit(&box->ledger);
	w->wait = wait;
	w->box = box;
	if (!wait->timed) {
		w->state = WAITING;
		wait_has_begun(box);
	}
	pthread_cleanup_push(wait_cancelled, wait);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	err = wait->timed ? api_cond_clockwait(box->cond, box->mutex,
					       wait->clock, &wait->deadline) :
			    api_cond_wait(box->cond, box->mutex);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	w->box = NULL;
	w->state = ACTIVE;
	ledger_enter(&box->ledger);
	wait_account(wait, err);
	wait_has_ended(box);
	return err;
}

static inline void dawdle(struct worker *w)
{
	uint32_t how = ATTACKED ? random_below(&w->random, 8) : 8;

	if (how == 0)
		sched_yield();
	for (volatile uint32_t i = 0; how == 1 && i < 2000; i++)
		;
}

/* Use the mutex alone. */
static inline void use_mutex(struct worker *w, struct box *box)
{
	struct timespec soon = deadline_in(CLOCK_REALTIME, 50000);

	if (random_below(&w->random, 2) ? api_mutex_trylock(box->mutex) :
					  kind_timedlock(box->mutex, &soon))
		return;
	ledger_enter(&box->ledger);
	dawdle(w);
	box_unlock(box);
}

/* One in eight waits has a deadline. Returns whether it was unblocked. */
static inline bool wait_in(struct box *box, struct worker *w)
{
	uint32_t how = random_below(&w->random, 32);
	struct wait wait = {
		.worker = w,
		.box = box,
		.kind = how < 4 ? LEAVES : STAYS,
		.timed = how < 4,
		.clock = how ? CLOCK_MONOTONIC : CLOCK_REALTIME,
	};
	bool held_back, unblocked = false;
	uint32_t ns;

	ns = random_below(&w->random, 3) ? 5000 : 200000;
	ns = random_below(&w->random, ns);
	box_lock(box);
	held_back = box->hold_back;
	if (!mixed->stop_waits && !held_back) {
		if (wait.timed)
			wait.deadline = deadline_in(wait.clock, ns);
		unblocked = !wait_once(&wait);
	}
	dawdle(w);
	box_unlock(box);
	if (held_back)
		doze(&box->hold_back, true);
	return unblocked;
}

static inline void *worker_main(void *arg)
{
	struct worker *w = arg;
	int ignored;

	fake_futex_thread(1 + (w - mixed->workers));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	w->tid = blocked_gettid();
	while (!atomic_load(w->stop) && !w->cancelled) {
		w->act(w);
		w->nr_steps++;
	}
	w->state = ENDED;
	return NULL;
}

static inline void worker_fork(struct worker *w)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid) {
		w->pid = pid;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w->pid = getpid(); /* others look for it as soon as it waits */
	worker_main(w);
	_exit(0);
}

/* It comes to life, for the first time or again. */
static inline void worker_start(struct worker *w)
{
	w->state = ACTIVE;
	w->cancelled = false;
	if (PROCESSES)
		worker_fork(w);
	else
		start_thread(&w->thread, worker_main, w);
}
