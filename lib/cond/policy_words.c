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

bool policy_force(const char *forced, enum policy_base *to, int *spin_us)
{
	enum policy_base found = POLICY_AUTO;
	size_t length = strcspn(forced, ",");
	long us = -1;
	char *end;

	for (int i = 0; i <= POLICY_WAKE_ALL; i++) {
		if (strncmp(forced, words[i], length) || words[i][length])
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
