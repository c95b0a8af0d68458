// SPDX-License-Identifier: MIT
/* DROVER_POLICY is read once, when the library is loaded. */
#include <stdlib.h>

#include "base/poll.h"
#include "base/say.h"
#include "cond/policy.h"

/*
 * With several CPUs each moved thread costs the time until an idle CPU runs it.
 * So the first of them wakes a few more: about as many hand-offs between
 * running threads fit into one wake-up.
 */
#define WAKE_AHEAD 15

__attribute__((constructor)) static void load_policy(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");
	struct policy chosen;

	policy_force("auto", &chosen);
	if (forced && !policy_force(forced, &chosen))
		say("drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
		    forced, POLICY_HELP);
	if (chosen.spin_us >= 0)
		poll_limit((uint32_t)chosen.spin_us);
	if (chosen.ahead && poll_has_cpu())
		store_relaxed(&policy_ahead, WAKE_AHEAD);
	store_relaxed(&policy_moves, chosen.moves);
}
