/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ledger.h - what each return from a wait must be accounted for by
 *
 * Kept under the mutex that the waits use, so it is also the test of that
 * mutex. Waits are numbered in the order in which they begin. A wait STAYS
 * until it is unblocked, or LEAVES when its time runs out or it is cancelled:
 * of the latter nobody can know whether it still waits.
 *
 * A signal is only sent while more waits stay than there are signals not yet
 * answered, so it must make exactly one wait return. It is written down with
 * the number of the newest wait that began before it, and who returns must find
 * one that is new enough for its number: otherwise it has stolen it. If it
 * finds none at all, its return was spurious. An "open" signal is still being
 * sent, without the mutex: newcomers may have it. A broadcast makes every wait
 * return that has begun; signals that are not answered yet are void then.
 *
 * So after the last signal everything that is owed must come, and nothing else
 * may.
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
 * struct ledger - all under the mutex, but for the atomic fields
 * @inside: somebody has the mutex
 * @begun: number of the newest wait
 * @broadcast: the waits up to this number have been broadcast to
 * @stay: waits that stay, newer than that
 * @due: waits that stay, of those that have been broadcast to
 * @signals: of each signal not yet answered, the newest wait that may have it
 * @owed: returns that must come
 * @sending: signals on their way without the mutex
 * @wrong: what was found wrong first
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

/* The caller says that it has the mutex, and before it lets go, that it had. */
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

/* A wait begins; its number. */
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
 * Of the signals that wait @number may have, the one that fewest others may
 * have, so that what is left serves as many as possible; -1 if there is none.
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

/* Wait @number has returned as unblocked. */
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

/* Wait @number, which was free to, has returned without being unblocked. */
static inline void ledger_leave(struct ledger *l, unsigned long number)
{
	ledger_forget(l, number, LEAVES);
}

/*
 * Wait @number, which stayed, may leave from now on. Returns false if it may
 * not, for it has been broadcast to.
 */
static inline bool ledger_may_leave(struct ledger *l, unsigned long number)
{
	if (number <= l->broadcast)
		return false;
	l->stay--;
	return true;
}

/* May a signal be sent now? If so it is written down. */
static inline bool ledger_signal(struct ledger *l, bool open)
{
	/* What is no longer on its way was for those who waited by now. */
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
