// SPDX-License-Identifier: MIT
/* The policies, one table each, and their names. */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

/*
 * With several CPUs each moved thread costs the time until an idle CPU runs it.
 * So the first of them wakes a few more: about as many hand-offs between
 * running threads fit into one wake-up.
 */
#define WAKE_AHEAD 15

#define MOST_US 100000

/* struct wake_plan. WAKE_ONE moves the rest. */
#define WAKE_ALL      0
#define MOVE_ALL      0, true
#define WAKE_ONE      1, true
#define AND_AHEAD(of) of, WAKE_AHEAD

/* For a single waiter, and for several. All are woken where nothing is said. */
const struct policy policies[] = {
	[POLICY_AUTO].plan = {
		[MUTEX_HELD_BY_CALLER] = { { MOVE_ALL }, { MOVE_ALL } },
		[MUTEX_HELD_BY_OTHER] = { { WAKE_ALL }, { WAKE_ONE } },
	},
	[POLICY_AHEAD].plan = {
		[MUTEX_HELD_BY_CALLER] = { { MOVE_ALL },
					   { AND_AHEAD(MOVE_ALL) } },
		[MUTEX_HELD_BY_OTHER] = { { WAKE_ALL },
					  { AND_AHEAD(WAKE_ONE) } },
	},
	[POLICY_REQUEUE].plan = {
		[MUTEX_FREE] = { { WAKE_ALL }, { WAKE_ONE } },
		[MUTEX_HELD_BY_CALLER] = { { MOVE_ALL }, { MOVE_ALL } },
		[MUTEX_HELD_BY_OTHER] = { { WAKE_ALL }, { WAKE_ONE } },
	},
};

/* Threads that a constructor before ours has started may already wait. */
_Atomic(const struct policy *) policy = &policies[POLICY_AUTO];

static const char *const names[] = {
	[POLICY_AUTO] = "auto",
	[POLICY_REQUEUE] = "requeue",
	[POLICY_WAKE_ALL] = "wake-all",
};

bool policy_force(const char *forced, enum policy_base *to, int *spin_us)
{
	enum policy_base found = POLICY_AUTO;
	size_t length = strcspn(forced, ",");
	long us = -1;
	char *end;

	for (int i = 0; i <= POLICY_WAKE_ALL; i++) {
		if (strncmp(forced, names[i], length) || names[i][length])
			continue;
		found = (enum policy_base)i;
		/* The fixed ones wake or move, and do nothing else. */
		us = i == POLICY_AUTO ? -1 : 0;
		forced += length + (forced[length] == ',');
		break;
	}
	if (*forced && (strncmp(forced, "spin=", 5) || forced[5] < '0' ||
			forced[5] > '9' ||
			(us = strtol(forced + 5, &end, 10)) > MOST_US || *end))
		return false;
	*to = found;
	*spin_us = (int)us;
	return true;
}
