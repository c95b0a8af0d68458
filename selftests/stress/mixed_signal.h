/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed_signal.h - what the signallers of cond_mixed do
 *
 * Now and then a signaller closes a box until all returns have come that the
 * box owes, so the next signal cannot make up for a lost one. Most broadcasts
 * come after that.
 */
#pragma once

#include "mixed.h"

#define IDLE_NS 20000

static inline void send_result(struct box *box, const char *what, int err)
{
	if (err)
		ledger_wrong(&box->ledger, "%s: %s", what, strerror(err));
}

/* Return: false if there is no waiter to signal to. */
static inline bool send_signal(struct box *box, bool keep)
{
	struct ledger *l = &box->ledger;
	api_cond_t *cond;
	bool allowed;

	box_lock(box);
	cond = box->cond;
	allowed = !box->closed && ledger_signal(l, !keep);
	if (allowed && keep)
		send_result(box, "signal", api_cond_signal(cond));
	else if (allowed)
		l->sending++;
	box_unlock(box);
	if (allowed && !keep) {
		send_result(box, "signal", api_cond_signal(cond));
		l->sending--;
	}
	return allowed;
}

static inline bool box_close(struct box *box)
{
	return !atomic_exchange(&box->closed, true);
}

static inline void box_open(struct box *box)
{
	box->closed = false;
	rouse(&box->closed, INT_MAX);
}

/* @destroy: destroy the condvar at once; later waits use another condvar */
static inline void broadcast_to(struct box *box, api_cond_t *cond, bool destroy)
{
	send_result(box, "broadcast", kind_broadcast(cond, box->mutex));
	if (!destroy)
		return;
	kind_cond_destroy(cond, box->mutex);
	if (mixed->shared)
		memset(cond, 0xa5, sizeof(*cond));
	else
		munmap(cond, sizeof(*cond));
}

static inline void send_broadcast(struct box *box, struct worker *w)
{
	bool keep = random_below(&w->random, 2);
	bool destroy = random_below(&w->random, 4) == 0;
	api_cond_t *cond;
	bool allowed;

	if (!keep && !box_close(box))
		return;
	box_lock(box);
	cond = box->cond;
	allowed = !box->ledger.sending;
	if (allowed) {
		ledger_broadcast(&box->ledger);
		wait_has_ended(box);
		if (destroy)
			box_new_cond(box);
		if (keep)
			broadcast_to(box, cond, destroy);
		else
			box->ledger.sending++;
	}
	box_unlock(box);
	if (keep)
		return;
	if (allowed) {
		broadcast_to(box, cond, destroy);
		box->ledger.sending--;
	}
	box_open(box);
}

/* Wait until all owed returns have come. No worker begins a wait meanwhile. */
static inline void box_settle(struct box *box)
{
	int owed;

	if (!box_close(box))
		return;
	while ((owed = box->ledger.owed))
		doze(&box->ledger.owed, owed);
	box_open(box);
}

/*
 * Cancel a waiter. If it was broadcast to before, its wait must return 0. No
 * signal is on its way that only this waiter could take.
 */
static inline bool cancel_in(struct box *box, struct worker *victim)
{
	struct ledger *l = &box->ledger;

	if (victim->box != box || l->sending ||
	    atomic_exchange(&victim->cancelled, true))
		return false;
	victim->released = victim->number <= l->broadcast;
	if (victim->kind == STAYS && ledger_may_leave(l, victim->number)) {
		victim->kind = LEAVES;
		victim->state = ACTIVE;
	}
	pthread_cancel(victim->thread);
	return true;
}

/* A worker in a wait of this box cannot end while the caller has the mutex. */
static inline void disturb(struct worker *w, struct box *box)
{
	int nr_waiters = mixed->nr_workers - mixed->nr_signallers;
	struct worker *victim = &mixed->workers[mixed->nr_signallers];
	bool cancelled = false;

	victim += random_below(&w->random, nr_waiters);
	box_lock(box);
	if (CAN_CANCEL && random_below(&w->random, 2))
		cancelled = cancel_in(box, victim);
	else if (victim->box == box)
		/* One of the signals restarts its system call, one does not. */
		syscall(SYS_tgkill, victim->pid, victim->tid,
			random_below(&w->random, 2) ? SIGUSR1 : SIGUSR2);
	box_unlock(box);
	if (cancelled) {
		pthread_join(victim->thread, NULL);
		worker_start(victim);
	}
}

/*
 * Signal to one box or another; if no box has a waiter for it, sleep a while.
 */
static inline void signal_somebody(struct worker *w)
{
	int first = random_below(&w->random, mixed->nr_boxes);

	for (int i = 0; i < mixed->nr_boxes; i++) {
		int nr = (first + i) % mixed->nr_boxes;

		if (send_signal(&mixed->boxes[nr], random_below(&w->random, 2)))
			return;
	}
	/* This sleep is no synchronisation: it leaves the CPU to the others. */
	nanosleep(&(struct timespec){ .tv_nsec = IDLE_NS }, NULL);
}

/* What a signaller does. */
static inline void stir(struct worker *w)
{
	struct box *box = some_box(w);

	switch (random_below(&w->random, 32)) {
	case 0:
		disturb(w, box);
		break;
	case 1:
		box_settle(box);
		break;
	case 2 ... 6:
		box_settle(box);
		send_broadcast(box, w);
		break;
	case 7 ... 8:
		send_broadcast(box, w);
		break;
	default:
		signal_somebody(w);
	}
}

/* The loop of a waiter. After one in two waits it signals to another waiter. */
static inline void take_part(struct worker *w)
{
	struct box *box = some_box(w);

	if (ATTACKED && random_below(&w->random, 8) == 0)
		use_mutex(w, box);
	else if (wait_in(box, w) && random_below(&w->random, 2) &&
		 !mixed->stop_signals)
		send_signal(some_box(w), random_below(&w->random, 2));
}
