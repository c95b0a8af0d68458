// SPDX-License-Identifier: MIT
/* What the environment says is read once, when the library is loaded. */
#include <stdio.h>
#include <stdlib.h>

#include "base/poll.h"
#include "cond/policy.h"

__attribute__((constructor)) static void load_policy(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");
	enum policy_base chosen = POLICY_AUTO;
	int spin_us = -1;

	if (forced && !policy_force(forced, &chosen, &spin_us))
		fprintf(stderr,
			"drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
			forced, POLICY_HELP);
	if (spin_us >= 0)
		poll_limit((uint32_t)spin_us);
	if (chosen == POLICY_AUTO && poll_has_cpu())
		chosen = POLICY_AHEAD;
	store_relaxed(&policy, &policies[chosen]);
}
