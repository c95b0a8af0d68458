// SPDX-License-Identifier: MIT
/* What the kernel, or a sandbox, has refused. */
#include "cond/cond.h"

/* Never cleared. */
static atomic_bool refused;

void policy_requeue_refused(void)
{
	store_relaxed(&refused, true);
}

bool policy_requeue_is_refused(void)
{
	return load_relaxed(&refused);
}

/* Do the two halves of requeue-PI exist? Each is asked for a wrong value. */
static bool requeue_pi_works(void)
{
	static futex_word word, target;

	return futex_wait_requeue_pi(&word, 1, NULL, &target) == -EAGAIN &&
	       futex_cmp_requeue_pi(&word, 1, 0, &target) == -EAGAIN;
}

static atomic_int requeue_pi; /* once REFUSED, it stays so */

enum {
	UNKNOWN,
	WORKS,
	REFUSED
};

void policy_requeue_pi_refused(void)
{
	store_relaxed(&requeue_pi, REFUSED);
}

bool policy_requeue_pi(void)
{
	int now = load_relaxed(&requeue_pi), found;

	if (now == UNKNOWN) {
		found = policy_may_move() && requeue_pi_works() ? WORKS :
								  REFUSED;
		if (cas_relaxed(&requeue_pi, &now, found))
			now = found;
	}
	return now == WORKS;
}
