// SPDX-License-Identifier: MIT
/* The names of the policies. */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

#define MOST_US 100000

/*
 * This is in force until load_policy() runs: threads that an earlier
 * constructor has started may already wait.
 */
_Atomic uint32_t policy_in_force = POLICY_AUTO;

bool policy_parse(const char *text, struct policy *to)
{
	static const char *const names[] = { "wake-all", "auto", "requeue" };
	struct policy found = { .rule = POLICY_AUTO, .spin_us = -1 };
	size_t length = strcspn(text, ",");
	char *end;

	for (int rule = POLICY_WAKE_ALL; rule <= POLICY_REQUEUE; rule++) {
		if (strncmp(text, names[rule], length) || names[rule][length])
			continue;
		found.rule = rule;
		found.spin_us = rule == POLICY_AUTO ? -1 : 0;
		text += length + (text[length] == ',');
		break;
	}
	if (*text &&
	    (strncmp(text, "spin=", 5) || text[5] < '0' || text[5] > '9' ||
	     (found.spin_us = strtol(text + 5, &end, 10)) > MOST_US || *end))
		return false;
	*to = found;
	return true;
}
