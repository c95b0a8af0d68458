/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ledger.h - who waits, and which signals somebody has to return for
 *
 *	ticket = ledger_wait(&ledger);		// with the mutex, before
 *	err = api_cond_clockwait(...);
 *	ledger_return(&ledger, ticket, err);	// with the mutex, after
 *
 *	ledger_signal(&ledger);			// with the mutex, before
 *	api_cond_signal(&cond);
 *
 * Waits and signals are numbered in the order of the mutex. A signal is a
 * credit for one of those who waited before it; a wait that returns 0 uses up
 * the oldest credit that it may use. If there is none, the return was spurious,
 * or the signal was another's. A wait that has timed out may be counted as
 * waiting still, so after a timeout a credit is dropped that nobody is left
 * for. Whatever credits stay are lost wakeups.
 */
#ifndef DROVER_SELFTESTS_LEDGER_H
#define DROVER_SELFTESTS_LEDGER_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define LEDGER_MAX 256

/* All under the mutex; both lists from old to new. */
struct ledger {
	uint64_t now;
	int nr_waits;
	uint64_t waits[LEDGER_MAX];
	int nr_credits;
	uint64_t credits[LEDGER_MAX];

	long nr_returns;
	long nr_timeouts;
	long nr_wrong; /* returned 0 without a credit, or an error */
};

static inline void ledger_remove(uint64_t *list, int *nr, int at)
{
	(*nr)--;
	memmove(&list[at], &list[at + 1], (*nr - at) * sizeof(*list));
}

static inline uint64_t ledger_wait(struct ledger *ledger)
{
	if (ledger->nr_waits == LEDGER_MAX)
		tap_bail("more than %d waiters", LEDGER_MAX);
	ledger->waits[ledger->nr_waits++] = ++ledger->now;
	return ledger->now;
}

/* How many wait since before @credit? */
static inline int ledger_nr_older(const struct ledger *ledger, uint64_t credit)
{
	int nr = 0;

	while (nr < ledger->nr_waits && ledger->waits[nr] < credit)
		nr++;
	return nr;
}

/* Drop the credits for which no waiter is left, each being for one. */
static inline void ledger_drop(struct ledger *ledger)
{
	for (int i = 0; i < ledger->nr_credits; i++)
		if (ledger_nr_older(ledger, ledger->credits[i]) < i + 1)
			ledger_remove(ledger->credits, &ledger->nr_credits,
				      i--);
}

/* Returns whether anybody may have been blocked. */
static inline bool ledger_signal(struct ledger *ledger)
{
	int before = ledger->nr_credits;

	if (before == ledger->nr_waits)
		return false;
	ledger->credits[ledger->nr_credits++] = ++ledger->now;
	ledger_drop(ledger);
	return ledger->nr_credits > before;
}

static inline void ledger_broadcast(struct ledger *ledger)
{
	while (ledger_signal(ledger))
		;
}

static inline void ledger_use(struct ledger *ledger, uint64_t ticket)
{
	for (int i = 0; i < ledger->nr_credits; i++) {
		if (ledger->credits[i] < ticket)
			continue;
		ledger_remove(ledger->credits, &ledger->nr_credits, i);
		return;
	}
	ledger->nr_wrong++;
}

/* @err: what the wait of @ticket returned */
static inline void ledger_return(struct ledger *ledger, uint64_t ticket,
				 int err)
{
	int at = 0;

	while (ledger->waits[at] != ticket)
		at++;
	ledger_remove(ledger->waits, &ledger->nr_waits, at);
	if (err == 0) {
		ledger->nr_returns++;
		ledger_use(ledger, ticket);
	} else if (err == ETIMEDOUT) {
		ledger->nr_timeouts++;
	} else {
		ledger->nr_wrong++;
	}
	ledger_drop(ledger);
}

#endif /* DROVER_SELFTESTS_LEDGER_H */
