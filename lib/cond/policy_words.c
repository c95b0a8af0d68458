// SPDX-License-Identifier: MIT
/* DROVER_POLICY: words with commas between them, drover(7). */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

#define LONGEST 64
#define MOST_US 1000000

enum policy_word {
	WORD_AUTO = POLICY_AUTO,
	WORD_REQUEUE = POLICY_REQUEUE,
	WORD_WAKE_ALL = POLICY_WAKE_ALL,
	WORD_SPIN,
};

static char *const policy_words[] = {
	[WORD_AUTO] = "auto",
	[WORD_REQUEUE] = "requeue",
	[WORD_WAKE_ALL] = "wake-all",
	[WORD_SPIN] = "spin",
	NULL,
};

static bool force_spin(struct policy *p, const char *value)
{
	unsigned long found;
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	found = strtoul(value, &end, 10);
	if (*end || found > MOST_US)
		return false;
	p->spin_us = (int32_t)found;
	return true;
}

static bool force_word(struct policy *p, int word, const char *value)
{
	if (word == WORD_SPIN)
		return force_spin(p, value);
	if (word < 0 || value)
		return false;
	p->base = (enum policy_base)word;
	/* The fixed ones wake or move, and do nothing else. */
	p->spin_us = p->base == POLICY_AUTO ? SPIN_MEASURED : 0;
	return true;
}

bool policy_force(const char *forced, struct policy *p)
{
	char words[LONGEST], *rest = words, *value;
	struct policy changed = *p;

	if (strlen(forced) >= sizeof(words))
		return false;
	strcpy(words, forced);
	while (*rest) {
		int word = getsubopt(&rest, policy_words, &value);

		if (!force_word(&changed, word, value))
			return false;
	}
	*p = changed;
	return true;
}
