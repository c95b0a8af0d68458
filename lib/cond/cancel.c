// SPDX-License-Identifier: MIT
/* Getting a thread out of its sleep for another reason than a signal. */
#include "cond/cond.h"

void group_interrupt(struct group *g, uint32_t bits)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = (state + GROUP_INTERRUPT) & GROUP_INTERRUPTS;
		to |= state & ~GROUP_INTERRUPTS;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [W-WORD] */
	if (load_relaxed(&g->pi_target))
		cond_pi_wake(g, INT_MAX);
	else
		futex_wake_bits(LOW_HALF(&g->state), INT_MAX, false, bits);
}

void cond_interrupt(pthread_t thread)
{
	struct group *g = NULL;
	struct lock *lock;
	struct waiter *w = waiter_find(thread, &lock);
	uint32_t bit = w ? w->bit : 0;

	if (w) {
		add_seq_cst(&w->cancellations, 1); /* [W-CANCEL] [W-SEEN] */
		g = load_seq_cst(&w->group);
		if (w->shared_word) {
			add_release(w->shared_word, 1); /* [W-WORD] */
			futex_wake_bits(w->shared_word, INT_MAX, true, bit);
		}
	}
	lock_drop(lock);
	/* It may be in other use by now, where an interrupt does no harm. */
	if (g)
		group_interrupt(g, bit);
}
