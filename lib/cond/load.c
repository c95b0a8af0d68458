// SPDX-License-Identifier: MIT
/* DROVER_POLICY is read once, when the library is loaded. */
#include <stdlib.h>

#include "base/poll.h"
#include "base/say.h"
#include "cond/policy.h"

__attribute__((constructor)) static void load_policy(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");
	struct policy chosen = { .rule = POLICY_AUTO, .spin_us = -1 };

	if (forced && !policy_parse(forced, &chosen))
		say("drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
		    forced, POLICY_HELP);
	if (chosen.spin_us >= 0)
		poll_limit((uint32_t)chosen.spin_us);
	store_relaxed(&policy_in_force, chosen.rule);
}
