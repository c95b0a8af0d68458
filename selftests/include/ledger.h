/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ledger.h - accounts for each return from a wait
 *
 * The ledger is kept under the mutex that the waits use, so it also tests this
 * mutex. Waits are numbered in the order in which they begin. A wait STAYS
 * until it is unblocked, or it LEAVES at its deadline or by a cancellation.
 * Other threads cannot know whether a wait that LEAVES still waits.
 *
 * A signal is only sent while more waits stay than there are unanswered
 * signals, so it must make exactly one wait return. Its entry has the number of
 * the newest wait that began before it. A wait that returns must find an entry
 * whose number is not below its own: otherwise it has stolen the signal of an
 * older wait. If it finds no entry at all, its return was spurious. An "open"
 * signal is still being sent, without the mutex, so newcomers may take it. A
 * broadcast makes every wait return that has begun, and removes the entries of
 * unanswered signals.
 *
 * So after the last signal every owed return must come, and no other may.
 */
#pragma once

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LEDGER_SIGNALS 64
#define LEDGER_OPEN    (~0ul)

enum wait_kind {
	STAYS,
	LEAVES
};

/**
 * struct ledger - all under the mutex, except the atomic fields
 * @inside: a thread has the mutex
 * @begun: number of the newest wait
 * @broadcast: the waits up to this number have been broadcast to
 * @stay: how many newer waits stay
 * @due: how many waits stay that have been broadcast to
 * @signals: for each unanswered signal, the newest wait that may take it
 * @owed: how many returns must come
 * @sending: signals that are being sent without the mutex
 * @wrong: the first thing that was found wrong
 */
struct ledger {
	bool inside;
	unsigned long begun;
	unsigned long broadcast;
	int stay;
	int due;
	int nr_signals;
	unsigned long signals[LEDGER_SIGNALS];
	atomic_int owed;
	atomic_int sending;
	atomic_int nr_wrong;
	char wrong[160];
};

static inline __attribute__((format(printf, 2, 3))) void
ledger_wrong(struct ledger *l, const char *fmt, ...)
{
	char text[sizeof(l->wrong)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (atomic_fetch_add(&l->nr_wrong, 1) == 0)
		memcpy(l->wrong, text, sizeof(text));
}

/* To be called when the caller has locked the mutex, and before it unlocks. */
static inline void ledger_enter(struct ledger *l)
{
	if (l->inside)
		ledger_wrong(l, "two threads have the mutex");
	l->inside = true;
}

static inline void ledger_exit(struct ledger *l)
{
	if (!l->inside)
		ledger_wrong(l, "two threads had the mutex");
	l->inside = false;
}

static inline void ledger_publish(struct ledger *l)
{
	l->owed = l->nr_signals + l->due;
}

/* A wait begins. Return: its number. */
static inline unsigned long ledger_begin(struct ledger *l, enum wait_kind kind)
{
	l->stay += kind == STAYS;
	return ++l->begun;
}

static inline void ledger_forget(struct ledger *l, unsigned long number,
				 enum wait_kind kind)
{
	if (kind == STAYS && number <= l->broadcast)
		l->due--;
	else if (kind == STAYS)
		l->stay--;
	ledger_publish(l);
}

/*
 * Return: of the signals that wait @number may take, the one that fewest other
 * waits may take, so that the other signals are left for as many as possible;
 * or -1.
 */
static inline int ledger_find(struct ledger *l, unsigned long number)
{
	int best = -1;

	for (int i = 0; i < l->nr_signals; i++)
		if (l->signals[i] >= number &&
		    (best < 0 || l->signals[i] < l->signals[best]))
			best = i;
	return best;
}

/* Wait @number was unblocked and has returned. */
static inline void ledger_return(struct ledger *l, unsigned long number,
				 enum wait_kind kind)
{
	if (number > l->broadcast) {
		int i = ledger_find(l, number);

		if (i < 0)
			ledger_wrong(l,
				     l->nr_signals ? "wait %lu stole a signal" :
						     "wait %lu returned for "
						     "nothing",
				     number);
		else
			l->signals[i] = l->signals[--l->nr_signals];
	}
	ledger_forget(l, number, kind);
}

/* Wait @number, which may leave, has returned without being unblocked. */
static inline void ledger_leave(struct ledger *l, unsigned long number)
{
	ledger_forget(l, number, LEAVES);
}

/*
 * Wait @number, which stayed, may leave from now on. Return: false if it may
 * not, because it has been broadcast to.
 */
static inline bool ledger_may_leave(struct ledger *l, unsigned long number)
{
	if (number <= l->broadcast)
		return false;
	l->stay--;
	return true;
}

/* May a signal be sent now? If so, it gets an entry. */
static inline bool ledger_signal(struct ledger *l, bool open)
{
	/* A signal that has been sent cannot be taken by later waits. */
	if (!l->sending)
		for (int i = 0; i < l->nr_signals; i++)
			if (l->signals[i] == LEDGER_OPEN)
				l->signals[i] = l->begun;
	if (l->stay <= l->nr_signals || l->nr_signals == LEDGER_SIGNALS)
		return false;
	l->signals[l->nr_signals++] = open ? LEDGER_OPEN : l->begun;
	ledger_publish(l);
	return true;
}

static inline void ledger_broadcast(struct ledger *l)
{
	l->broadcast = l->begun;
	l->due += l->stay;
	l->stay = 0;
	l->nr_signals = 0;
	ledger_publish(l);
}
