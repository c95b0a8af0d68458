// SPDX-License-Identifier: MIT
/* DROVER_POLICY: words with commas between them, drover(7). */
#include <stdlib.h>
#include <string.h>

#include "cond/policy.h"

#define LONGEST 128
#define MOST_US 100000000

enum policy_word {
	POLICY_AUTO,
	POLICY_REQUEUE,
	POLICY_WAKE_ALL,
	POLICY_EARLY,
	POLICY_LATE,
	POLICY_SHORT,
	POLICY_LONG,
	POLICY_NO_BATCH,
	POLICY_AWAKE,
	POLICY_LOOK,
	POLICY_WATCH,
	POLICY_ONCE,
	POLICY_AWAIT,
	POLICY_STAY,
	POLICY_NO_STAY,
	POLICY_RELAY,
	POLICY_NO_RELAY,
	POLICY_CALL,
};

static char *const policy_words[] = {
	[POLICY_AUTO] = "auto",
	[POLICY_REQUEUE] = "requeue",
	[POLICY_WAKE_ALL] = "wake-all",
	[POLICY_EARLY] = "early",
	[POLICY_LATE] = "late",
	[POLICY_SHORT] = "short",
	[POLICY_LONG] = "long",
	[POLICY_NO_BATCH] = "no-batch",
	[POLICY_AWAKE] = "awake",
	[POLICY_LOOK] = "look",
	[POLICY_WATCH] = "watch",
	[POLICY_ONCE] = "once",
	[POLICY_AWAIT] = "await",
	[POLICY_STAY] = "stay",
	[POLICY_NO_STAY] = "no-stay",
	[POLICY_RELAY] = "relay",
	[POLICY_NO_RELAY] = "no-relay",
	[POLICY_CALL] = "call",
	NULL,
};

static bool force_number(const char *value, unsigned int least,
			 unsigned int most, unsigned int *number)
{
	unsigned long found;
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	found = strtoul(value, &end, 10);
	if (*end || found < least || found > most)
		return false;
	*number = (unsigned int)found;
	return true;
}

/* The fixed ones wake or move, and do nothing else. */
static void force_base(struct policy *p, enum base base)
{
	p->base = base;
	if (base == BASE_AUTO)
		return;
	p->single = HOPE_NEVER;
	p->herd = HOPE_NEVER;
	p->awake = 1;
	p->looks = 0;
	p->look_us = 0;
	p->watch_once = false;
	p->watch_us = 0;
	p->await_us = 0;
	p->stay = HOPE_NEVER;
	p->relay_over = RELAY_NEVER;
	p->call_us = 0;
}

static bool force_look(struct policy *p, const char *value)
{
	if (!force_number(value, 0, MOST_US, &p->look_us))
		return false;
	p->looks = p->look_us ? LOOKS : 0;
	return true;
}

static bool force_watch(struct policy *p, const char *value)
{
	if (!force_number(value, 0, MOST_US, &p->watch_us))
		return false;
	p->watch_once = false;
	if (!p->watch_us) {
		p->await_us = 0;
		p->stay = HOPE_NEVER;
	}
	return true;
}

static bool force_word(struct policy *p, int word, const char *value)
{
	if (word == POLICY_AWAKE)
		return force_number(value, 1, MOST_AWAKE, &p->awake);
	if (word == POLICY_LOOK)
		return force_look(p, value);
	if (word == POLICY_WATCH)
		return force_watch(p, value);
	if (word == POLICY_AWAIT)
		return force_number(value, 0, MOST_US, &p->await_us);
	if (word == POLICY_CALL)
		return force_number(value, 0, MOST_US, &p->call_us);
	if (word < 0 || value)
		return false;
	switch (word) {
	case POLICY_EARLY:
		p->single = HOPE_ALWAYS;
		break;
	case POLICY_LATE:
		p->single = HOPE_NEVER;
		break;
	case POLICY_SHORT:
		p->herd = HOPE_ALWAYS;
		break;
	case POLICY_LONG:
		p->herd = HOPE_NEVER;
		break;
	case POLICY_NO_BATCH:
		p->batch = false;
		break;
	case POLICY_STAY:
		p->stay = HOPE_ALWAYS;
		break;
	case POLICY_NO_STAY:
		p->stay = HOPE_NEVER;
		break;
	case POLICY_RELAY:
	case POLICY_NO_RELAY:
		p->relay_over = word == POLICY_RELAY ? 0 : RELAY_NEVER;
		break;
	case POLICY_ONCE:
		p->watch_once = true;
		p->watch_us = 0;
		p->await_us = 0;
		break;
	default:
		force_base(p, word == POLICY_AUTO    ? BASE_AUTO :
			      word == POLICY_REQUEUE ? BASE_REQUEUE :
						       BASE_WAKE_ALL);
	}
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
