// SPDX-License-Identifier: MIT
/*
 * Threads that hand on: each is released by one other thread, and then releases
 * one itself, as in a ring or a pipeline. Whoever has handed on to a thread calls
 * the heir of that one, whom it released the last time: the heir gets up while
 * its predecessor still works, and looks for its signal. So the way out of a
 * sleep, and of a CPU's, is not added to every turn.
 *
 * All this is guessed, and a call is a wake-up for nothing, which every wait has
 * to bear anyway. A waiter that is named here may belong to another thread by now,
 * and a bed to another group; but both stay mapped for ever.
 */
#include "cond/member.h"

void heir_note(struct waiter *released)
{
	struct waiter *self = thread_this.waiter;

	/* Who never waits is called by nobody. */
	if (!self)
		return;
	if (load_relaxed(&self->heir) != released)
		store_relaxed(&self->heir, released);
	thread_this.released = released;
}

void heir_call(const struct waiter *self)
{
	struct waiter *heir = load_relaxed(&thread_this.released->heir);
	futex_word *bed;

	thread_this.released = NULL;
	if (!heir || heir == self || load_relaxed(&heir->call) != CALL_NONE ||
	    !policy_calls(heir))
		return;
	store_relaxed(&heir->call, CALL_MADE);
	/* If it is awake it looks for a call before it sleeps, or has just done so. */
	bed = load_relaxed(&heir->bed);
	if (bed)
		futex_wake(bed, 1, false);
}
