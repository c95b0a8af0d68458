/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed_signal.h - what the signallers of cond_mixed do
 *
 * Now and then they stop one box until all that it owes has come: so what is
 * lost is not made up for by the next signal. A broadcast mostly comes after
 * such a stop.
 */
#pragma once

#include "mixed.h"

static inline void send_result(struct box *box, const char *what, int err)
{
	if (err)
		ledger_wrong(&box->ledger, "%s: %s", what, strerror(err));
}

/* Returns false if there is nobody to signal to. */
static inline bool send_signal(struct box *box, bool keep)
{
	struct ledger *l = &box->ledger;
	api_cond_t *cond;
	bool allowed;

	if (box->stopped)
		return false;
	box_lock(box);
	cond = box->cond;
	allowed = !box->hold_back && ledger_signal(l, !keep);
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

/* Nothing is on its way without the mutex. */
static inline bool box_is_quiet(struct box *box)
{
	return !box->hold_back && !box->ledger.sending;
}

/* @destroy: at once, and whoever waits from now on does so on another one */
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

	box_lock(box);
	cond = box->cond;
	allowed = box_is_quiet(box);
	if (allowed) {
		ledger_broadcast(&box->ledger);
		wait_has_ended(box);
		if (destroy)
			box_new_cond(box);
		if (keep)
			broadcast_to(box, cond, destroy);
		else
			box->hold_back = true;
	}
	box_unlock(box);
	if (!allowed || keep)
		return;
	broadcast_to(box, cond, destroy);
	box_lock(box);
	box->hold_back = false;
	box_unlock(box);
	rouse(&box->hold_back, INT_MAX);
}

/* Until all that is owed has come; nobody begins anything new meanwhile. */
static inline void box_stop(struct box *box)
{
	int owed;

	if (atomic_exchange(&box->stopped, true))
		return;
	box->since = mixed->watched_ns;
	while ((owed = box->ledger.owed))
		doze(&box->ledger.owed, owed);
	box->since = 0;
	box->stopped = false;
	rouse(&box->stopped, INT_MAX);
}

/*
 * Whom a signal or broadcast has been sent to before must not notice. No signal
 * is on its way, so it cannot have been meant for this one alone.
 */
static inline bool cancel_in(struct box *box, struct worker *victim)
{
	struct ledger *l = &box->ledger;
	struct wait *wait;

	if (victim->box != box || !box_is_quiet(box) ||
	    atomic_exchange(&victim->cancelled, true))
		return false;
	wait = victim->wait;
	wait->released = wait->number <= l->broadcast;
	if (wait->kind == STAYS && ledger_may_leave(l, wait->number)) {
		wait->kind = LEAVES;
		victim->state = ACTIVE;
	}
	pthread_cancel(victim->thread);
	return true;
}

/* Take one out of its system call. One signal restarts it, one does not. */
static inline void interrupt(struct worker *victim, bool restart)
{
	int number = restart ? SIGUSR1 : SIGUSR2;

	if (victim->pid)
		kill(victim->pid, number);
	else
		pthread_kill(victim->thread, number);
}

/* Who is in a wait of this box cannot end while we have the mutex. */
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
		interrupt(victim, random_below(&w->random, 2));
	box_unlock(box);
	if (cancelled) {
		pthread_join(victim->thread, NULL);
		worker_start(victim);
	}
}

/*
 * A signal to one box or another, or sleep until somebody begins to wait. Where
 * a box is stopped or held back another signaller is at work, and goes on.
 */
static inline void signal_somebody(struct worker *w)
{
	uint32_t arrivals = mixed->arrivals;
	int first = random_below(&w->random, mixed->nr_boxes);

	for (int i = 0; i < mixed->nr_boxes; i++) {
		int nr = (first + i) % mixed->nr_boxes;

		if (send_signal(&mixed->boxes[nr], random_below(&w->random, 2)))
			return;
	}
	mixed->nr_idle++;
	if (arrivals == mixed->arrivals)
		doze(&mixed->arrivals, arrivals);
	mixed->nr_idle--;
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
		box_stop(box);
		break;
	case 2 ... 6:
		box_stop(box);
		send_broadcast(box, w);
		break;
	case 7 ... 8:
		send_broadcast(box, w);
		break;
	default:
		signal_somebody(w);
	}
}

/* What a waiter does: one in two that were unblocked hands on to another one. */
static inline void take_part(struct worker *w)
{
	struct box *box = some_box(w);

	if (box->stopped)
		doze(&box->stopped, true);
	else if (ATTACKED && random_below(&w->random, 8) == 0)
		use_mutex(w, box);
	else if (wait_in(box, w) && random_below(&w->random, 2) &&
		 !mixed->stop_signals)
		send_signal(some_box(w), random_below(&w->random, 2));
}
