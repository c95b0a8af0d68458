// SPDX-License-Identifier: MIT
/* The sleep of a waiter, from joining its group until it is out. */
#include "cond/member.h"

static inline long member_futex_wait(struct member *m, uint32_t word,
				     const struct deadline *deadline,
				     futex_word *pi_target)
{
	long ret;

	if (pi_target)
		return member_pi_wait(m, word, deadline);
	store_relaxed(&m->w->bed, group_word(m->g));
	ret = futex_wait_bits(group_word(m->g), word, deadline, false,
			      m->w->bit);
	store_relaxed(&m->w->bed, NULL);
	return ret;
}

/*
 * A wake-up brought neither release nor token: another member, which was awake,
 * has taken the token.
 *
 * If members may have been moved, we may have slept on the mutex, and the one
 * wake-up of its unlock may have come to us. The next in its queue has nobody
 * else to wake it.
 */
static inline void member_woken_for_nothing(struct member *m, uint64_t state)
{
	if (m->lock_err)
		return; /* the caller has to hear of it */
	if (m->owns) {
		m->owns = false;
		m->ops->unlock(m->mutex);
	} else if (state & GROUP_MOVED) {
		m->ops->pass_wake(m->mutex);
	}
}

/* Is there a reason to leave that is not ours to overlook? */
static inline int member_reason_to_leave(struct member *m, long ret)
{
	if (m->lock_err)
		return m->lock_err;
	if (ret == -ETIMEDOUT)
		return ETIMEDOUT;
	if (m->ops->interruptible &&
	    load_seq_cst(&m->w->kick) != m->w->seen && /* [W-KICK] */
	    m->ops->interruptible())
		return ECANCELED;
	return 0;
}

int member_sleep(struct member *m, const struct deadline *deadline,
		 futex_word *pi_target)
{
	long ret = -EAGAIN;

	for (;;) {
		/* [G-STATE], and [W-LOOK] with group_kick() */
		uint64_t state = load_acquire(&m->g->state);
		int why;

		if (group_take(m->g, &state))
			return 0;
		if (ret == 0)
			member_woken_for_nothing(m, state);
		why = member_reason_to_leave(m, ret);
		if (why)
			return group_leave(m->g) ? why : 0;
		if (load_relaxed(&m->w->call) == CALL_MADE && !pi_target) {
			member_answer(m, (uint32_t)state, deadline);
			ret = -EAGAIN;
			continue;
		}
		ret = member_futex_wait(m, (uint32_t)state, deadline,
					pi_target);
	}
}
