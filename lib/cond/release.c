// SPDX-License-Identifier: MIT
/* How released threads get going: woken, or moved to the mutex. */
#include <limits.h>

#include "cond/cond.h"

struct wake_plan cond_plan(struct group *g, const struct mutex_ops *ops,
			   uint32_t nr_waiters, bool hopeful)
{
	enum mutex_holder holder = MUTEX_FREE;
	struct wake_plan plan = { 0 };
	void *mutex = load_relaxed(&g->mutex);
	futex_word *word = NULL;

	if (unlikely(load_relaxed(&g->pi_target)))
		return plan; /* there is one way only: cond_pi_wake() */

	/* Should it fall asleep meanwhile, then it is woken. */
	if (load_relaxed(&g->state) & GROUP_AWAKE ||
	    load_relaxed(&g->herd) == HERD_AWAKE ||
	    (nr_waiters == 1 && load_relaxed(&g->first->call) != CALL_NONE))
		return PLAN_WAKE_ALL;

	if (mutex)
		word = ops->word(mutex);
	if (word)
		holder = ops->holder(mutex);
	if (load_relaxed(&g->herd) == HERD_GATHERS)
		plan = policy_gather(holder, word != NULL);
	else
		plan = policy_plan(holder, word != NULL, nr_waiters, hopeful);
	/* If nobody is woken, the caller's unlock has to begin the chain. */
	if (plan.move && plan.nr_wake == 0)
		ops->set_contended(mutex);
	plan.target = plan.move ? word : NULL;
	store_relaxed(&g->lesson, plan.lesson);
	store_relaxed(&g->ahead, plan.ahead);
	return plan;
}

void cond_wake(struct group *g, uint32_t word, struct wake_plan plan, int nr)
{
	if (load_relaxed(&g->pi_target)) {
		cond_pi_wake(g, nr);
		return;
	}
	if (plan.move) {
		long ret = futex_cmp_requeue(group_word(g), word, plan.nr_wake,
					     nr, plan.target, false);

		if (ret >= 0)
			return;
		if (ret == -ENOSYS || ret == -EPERM)
			policy_requeue_refused();
	}
	futex_wake(group_word(g), nr, false);
}

void cond_release_by(struct group *g, struct wake_plan plan)
{
	/* Before the release: who has no memory but its own may end then. */
	bool looks = load_relaxed(&g->state) & GROUP_AWAKE &&
		     !load_relaxed(&g->first->gives_way);
	uint32_t word = group_release(g, plan.move ? GROUP_MOVED : 0);

	/* Nobody sleeps on the word now who is not free to go. */
	policy_met(load_relaxed(&g->owner), word & GROUP_AWAKE && looks);
	if (!(word & GROUP_AWAKE))
		cond_wake(g, word, plan, INT_MAX);
	group_unpin(g);
}
