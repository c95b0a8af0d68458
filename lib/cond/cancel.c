// SPDX-License-Identifier: MIT
/*
 * Cancellation: a thread that waits is made to look whether it has been
 * cancelled. The thread may be about to sleep on the word of its group, or on
 * the word of a shared condvar.
 *
 * [W-CANCEL] The thread says where it sleeps, and then looks whether it has
 * been cancelled.
 *
 *	CPU 0: waits				CPU 1: cancels it
 *
 *	store waiter.group = g			cancellations + 1
 *	full barrier				full barrier
 *	load cancellations			load waiter.group
 *
 * CPU 0 and CPU 1 cannot both load the old value. Otherwise the thread would
 * fall asleep with its cancellation pending, and no wake-up would follow. The
 * word of a shared condvar is published under a lock that CPU 1 takes, too, so
 * waiter_publish() has the same effect.
 *
 * [W-WORD] The thread looks for a cancellation after it has loaded the word on
 * which it sleeps.
 *
 *	CPU 0: waits				CPU 1: cancels it
 *
 *						cancellations + 1
 *	acquire: word			<---	release: change the word
 *	load cancellations			wake those who sleep on it
 *	sleep, if the word is the same
 *
 * If CPU 0 loads the new word, it also loads the new count, and does not sleep.
 * If CPU 0 loads the old word, either the kernel finds the new one and does not
 * let CPU 0 sleep, or CPU 0 is asleep before CPU 1 makes its wake-up call.
 */
#include "cond/group.h"

void group_cancel(struct group *g, uint32_t bits)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = (state + GROUP_CANCEL) & GROUP_CANCELS;
		to |= state & ~GROUP_CANCELS;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [W-WORD] */
	if (load_relaxed(&g->pi_target))
		cond_pi_wake(g, INT_MAX);
	else
		futex_wake_bits(LOW_HALF(&g->state), INT_MAX, false, bits);
}

void cond_cancel(pthread_t thread)
{
	struct group *g = NULL;
	struct lock *lock;
	struct waiter *w = waiter_find(thread, &lock);
	uint32_t bit = w ? w->bit : 0;

	if (w) {
		add_seq_cst(&w->cancellations, 1); /* [W-CANCEL] [W-SEEN] */
		g = load_seq_cst(&w->group);	   /* [W-CANCEL] */
		if (w->shared_word) {
			add_release(w->shared_word, 1); /* [W-WORD] */
			futex_wake_bits(w->shared_word, INT_MAX, true, bit);
		}
	}
	lock_drop(lock);
	/*
	 * The group is not pinned, so it may belong to another condvar by now.
	 * In that case its members look, find nothing, and sleep again.
	 */
	if (g)
		group_cancel(g, bit);
}
