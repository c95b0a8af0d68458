/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ledger.h - what waits and signals have come to, kept under the mutex
 *
 * A signal is sent only while there are more waits than unanswered signals, so it
 * must make exactly one return; otherwise it is kept as credit, and the next one
 * that would wait takes that. It is entered with the newest wait that may return
 * by it:
 *
 *  - a return that finds no entry was spurious;
 *  - one that finds only entries older than itself has stolen a signal;
 *  - a signal or a broadcast that is lost leaves all threads asleep.
 */
#pragma once

#include <stdbool.h>

#define LEDGER_MOST 16

/**
 * struct ledger
 * @waits: the numbers of threads that have begun to wait, in order
 * @nr_waits: how many have not returned
 * @newest: the number of the newest wait
 * @entries: the unanswered signals: the newest wait that may answer each, and the
 *	     number of the call
 * @nr_entries: how many they are
 * @nr_calls: so far
 * @credit: signals that found nobody
 * @inside: threads in the mutex
 */
struct ledger {
	int waits[LEDGER_MOST];
	int nr_waits;
	int newest;
	struct {
		int newest;
		int call;
	} entries[LEDGER_MOST];
	int nr_entries;
	int nr_calls;
	int credit;
	int inside;
};

/* The caller has just got the mutex; and is about to release it. */
void ledger_enter(struct ledger *l);
void ledger_leave(struct ledger *l);

/* Return: the number of the wait that begins, or 0 if there is credit. */
int ledger_wait(struct ledger *l);

/* Wait number @wait has returned with @err, and has the mutex. */
void ledger_return(struct ledger *l, int wait, int err);

/*
 * A call that wakes one waiter (@nr is 1) or all, and gives the others credit.
 * Return: the number of the call, or 0 if it finds nobody.
 */
int ledger_signal(struct ledger *l, int nr);
/* That call has returned: whoever begins to wait now does not return by it. */
void ledger_signalled(struct ledger *l, int call);

/* At the end. */
void ledger_close(struct ledger *l);

/* Threads at a barrier. */
struct crowd {
	int nr_come;
	int nr_gone;
};

/* Return: may the caller arrive, as one of @most? */
bool crowd_arrives(struct crowd *c, int most);
/* The caller was let through, as one of @count each time. */
void crowd_leaves(struct crowd *c, int count);
