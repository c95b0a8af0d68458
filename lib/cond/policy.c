// SPDX-License-Identifier: MIT
/* The policies, and their names. */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

#define MOST_US 100000

#define ONE_BY_HOLDER (1u << POLICY_ONE(MUTEX_HELD_BY_CALLER))
#define TO_FREE	      (1u << MUTEX_FREE)
#define TO_HELD	      (1u << MUTEX_HELD_BY_CALLER | 1u << MUTEX_HELD_BY_OTHER)

/*
 * This is in force until load_policy() runs: threads that an earlier
 * constructor has started may already wait.
 */
_Atomic uint32_t policy_moves = TO_HELD;

/*
 * The policies other than "auto" only wake or move threads: no thread polls
 * before it sleeps, or wakes others ahead.
 */
static const struct {
	const char *name;
	struct policy policy;
} named[] = {
	{ "auto", { .moves = TO_HELD | POLICY_AHEAD, .spin_us = -1 } },
	{ "requeue", { .moves = TO_HELD | TO_FREE | ONE_BY_HOLDER } },
	{ "wake-all", { .moves = 0 } },
};

bool policy_force(const char *forced, struct policy *to)
{
	struct policy found = named[0].policy;
	size_t length = strcspn(forced, ",");
	char *end;

	for (int i = 0; i < 3; i++) {
		const char *name = named[i].name;

		if (strncmp(forced, name, length) || name[length])
			continue;
		found = named[i].policy;
		forced += length + (forced[length] == ',');
		break;
	}
	if (*forced &&
	    (strncmp(forced, "spin=", 5) || forced[5] < '0' ||
	     forced[5] > '9' ||
	     (found.spin_us = strtol(forced + 5, &end, 10)) > MOST_US || *end))
		return false;
	*to = found;
	return true;
}
