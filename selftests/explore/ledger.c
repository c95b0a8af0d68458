// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ledger. It has no steps, so it is not explored.
 */
#include <limits.h>
#include <string.h>

#include "explore.h"
#include "ledger.h"

void ledger_enter(struct ledger *l)
{
	if (l->inside)
		fault("two threads have the mutex");
	l->inside = 1;
}

void ledger_leave(struct ledger *l)
{
	l->inside = 0;
}

int ledger_wait(struct ledger *l)
{
	if (l->credit) {
		l->credit--;
		return 0;
	}
	if (l->nr_waits == LEDGER_MOST)
		fault("the ledger is full");
	l->waits[l->nr_waits++] = ++l->newest;
	return l->newest;
}

int ledger_signal(struct ledger *l, int nr)
{
	int left = l->nr_waits - l->nr_entries, i;

	l->nr_calls++;
	for (i = 0; i < nr && i < left; i++) {
		l->entries[l->nr_entries].newest = INT_MAX;
		l->entries[l->nr_entries++].call = l->nr_calls;
	}
	l->credit += nr - i;
	return i ? l->nr_calls : 0;
}

void ledger_signalled(struct ledger *l, int call)
{
	for (int i = 0; i < l->nr_entries; i++)
		if (l->entries[i].call == call)
			l->entries[i].newest = l->newest;
}

static void drop_entry(struct ledger *l, int at)
{
	l->nr_entries--;
	memmove(l->entries + at, l->entries + at + 1,
		sizeof(*l->entries) * (size_t)(l->nr_entries - at));
}

static void drop_wait(struct ledger *l, int wait)
{
	int at = 0;

	while (l->waits[at] != wait)
		at++;
	l->nr_waits--;
	memmove(l->waits + at, l->waits + at + 1,
		sizeof(*l->waits) * (size_t)(l->nr_waits - at));
}

/* Are there as many waits up to number @newest as entries that need them? */
static bool can_be_answered(const struct ledger *l, int newest)
{
	int nr = 0;

	for (int i = 0; i < l->nr_entries; i++)
		nr += l->entries[i].newest <= newest;
	for (int i = 0; i < l->nr_waits; i++)
		nr -= l->waits[i] <= newest;
	return nr <= 0;
}

/*
 * A wait was given up, so a later signal may have found no waiter after all.
 * Turn such entries into credit.
 */
static void drop_unanswered(struct ledger *l)
{
	for (int i = 0; i < l->nr_entries; i++) {
		if (can_be_answered(l, l->entries[i].newest))
			continue;
		drop_entry(l, i);
		l->credit++;
		i = -1;
	}
}

void ledger_return(struct ledger *l, int wait, int err)
{
	int best = -1;

	drop_wait(l, wait);
	if (err) {
		drop_unanswered(l);
		return;
	}
	if (!l->nr_entries)
		fault("wait %d returned spuriously", wait);
	for (int i = 0; i < l->nr_entries; i++)
		if (l->entries[i].newest >= wait &&
		    (best < 0 ||
		     l->entries[i].newest < l->entries[best].newest))
			best = i;
	if (best < 0)
		fault("wait %d began after the signal, and has stolen it",
		      wait);
	drop_entry(l, best);
}

void ledger_close(struct ledger *l)
{
	expect(!l->inside);
	expect(!l->nr_waits);
	expect(!l->nr_entries);
}

bool crowd_arrives(struct crowd *c, int most)
{
	return c->nr_come < most && ++c->nr_come;
}

void crowd_leaves(struct crowd *c, int count)
{
	c->nr_gone++;
	if (c->nr_gone > c->nr_come / count * count)
		fault("%d were let through, %d have come", c->nr_gone,
		      c->nr_come);
}
