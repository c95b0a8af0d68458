// SPDX-License-Identifier: MIT
/* DROVER_POLICY, drover(7). */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

#define MOST_US 100000

static const char *const words[] = {
	[POLICY_AUTO] = "auto",
	[POLICY_REQUEUE] = "requeue",
	[POLICY_WAKE_ALL] = "wake-all",
};

bool policy_force(const char *forced, struct policy *p)
{
	struct policy found = { POLICY_AUTO, SPIN_MEASURED };
	size_t length = strcspn(forced, ",");
	unsigned long us;
	char *end;

	for (int i = 0; i <= POLICY_WAKE_ALL; i++) {
		if (strncmp(forced, words[i], length) || words[i][length])
			continue;
		found.base = (enum policy_base)i;
		/* The fixed ones wake or move, and do nothing else. */
		found.spin_us = i == POLICY_AUTO ? SPIN_MEASURED : 0;
		forced += length + (forced[length] == ',');
		break;
	}
	if (*forced) {
		if (strncmp(forced, "spin=", 5) || forced[5] < '0' ||
		    forced[5] > '9' ||
		    (us = strtoul(forced + 5, &end, 10)) > MOST_US || *end)
			return false;
		found.spin_us = (int32_t)us;
	}
	*p = found;
	return true;
}
