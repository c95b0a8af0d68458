/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ledger.h - an account of waits and signals, kept under the mutex
 *
 * A signal is sent only while there are more waits than unanswered signals, so
 * it must make exactly one wait return. Otherwise the signal is kept as credit,
 * and the next thread that would wait takes the credit instead. A signal that
 * is sent is entered with the newest wait that may return by it:
 *
 *  - A return that finds no entry was spurious.
 *  - A return that finds only entries older than its wait has stolen a signal.
 *  - A signal or a broadcast that is lost leaves all threads asleep.
 */
#pragma once

#include <stdbool.h>

#define LEDGER_MOST 16

/**
 * struct ledger
 * @waits: the numbers of the waits that have not returned, in order
 * @nr_waits: how many waits have not returned
 * @newest: the number of the newest wait
 * @entries: the unanswered signals: the newest wait that may answer each, and
 *	     the number of the call
 * @nr_entries: how many signals are unanswered
 * @nr_calls: calls that signal or broadcast, so far
 * @credit: signals that found no waiter
 * @inside: threads that have the mutex
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

/* The caller has just got the mutex, or is about to release it. */
void ledger_enter(struct ledger *l);
void ledger_leave(struct ledger *l);

/* Return: the number of the wait that begins, or 0 if there is credit. */
int ledger_wait(struct ledger *l);

/* Wait number @wait has returned with @err, and has the mutex. */
void ledger_return(struct ledger *l, int wait, int err);

/*
 * The caller wakes @nr waiters. For those that do not wait yet, it leaves
 * credit. Return: the number of the call, or 0 if it finds no waiter.
 */
int ledger_signal(struct ledger *l, int nr);
/* The call has returned: a wait that begins now must not return by it. */
void ledger_signalled(struct ledger *l, int call);

/* At the end: no wait and no signal may be left. */
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
