/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed_progress.h - how cond_mixed goes on: its progress, whether somebody was
 * forgotten, and a report of everybody then
 */
#pragma once

#include "mixed_signal.h"

static struct {
	uint64_t seed;
	long pairs, storms;
	int64_t seconds, progress, patience;
	int threads, most, mutex;
} options;

#define LONGEST_PAUSE (100 * NS_PER_MS)

/* What one policy came to. */
static struct {
	const char *policy;
	int64_t end, said;
	long want, round, nr_pairs;
	int nr_rounds;
} run;

static inline long nr_pairs(void)
{
	long nr = 0;

	for (int i = 0; i < mixed->nr_workers; i++)
		nr += mixed->workers[i].nr_pairs;
	return nr;
}

static inline unsigned long nr_steps(void)
{
	unsigned long nr = nr_pairs();

	for (int i = 0; i < mixed->nr_workers; i++)
		nr += mixed->workers[i].nr_steps;
	return nr;
}

static inline int nr_wrong(void)
{
	int nr = 0;

	for (int i = 0; i < mixed->nr_boxes; i++)
		nr += mixed->boxes[i].ledger.nr_wrong;
	return nr;
}

static inline void box_report(const struct box *box)
{
	const struct ledger *l = &box->ledger;

	if (l->nr_wrong)
		tap_diag("wrong: %s (and %d more)", l->wrong, l->nr_wrong - 1);
	tap_diag(
		"box %d: waits=%lu broadcast=%lu stay=%d due=%d signals=%d sending=%d%s%s",
		(int)(box - mixed->boxes), l->begun, l->broadcast, l->stay,
		l->due, l->nr_signals, l->sending,
		box->hold_back ? " hold-back" : "",
		box->stopped ? " stopped" : "");
}

/* With the system call that it sleeps in, as the kernel tells, if it does. */
static inline void worker_report(const struct worker *w)
{
	static const char *const states[] = { "active", "waits", "ended" };
	const struct box *box = w->box;
	pid_t pid = w->pid ? w->pid : getpid();
	char call[256], stat[512] = "";
	ssize_t len = blocked_read(pid, w->tid, "syscall", call, sizeof(call));

	blocked_read(pid, w->tid, "stat", stat, sizeof(stat));
	tap_diag("%s %d: %s, box %d%s%s, system call %.*s",
		 w->act == stir ? "signaller" : "waiter", w->tid,
		 states[w->state], box ? (int)(box - mixed->boxes) : -1,
		 w->cancelled ? ", cancelled" : "",
		 blocked_state_is_sleep(stat) ? ", asleep" : "",
		 len > 0 ? (int)strcspn(call, "\n") : 1, len > 0 ? call : "?");
}

static inline void report(void)
{
	tap_diag("%s, round %d: %d threads, %s mutex%s, %ld pairs", run.policy,
		 run.nr_rounds, mixed->nr_workers, mixed->kind->name,
		 mixed->shared ? ", shared" : "", nr_pairs());
#ifdef DROVER_FAKE_FUTEX
	tap_diag("late=%u spurious=%u expire=%u refuse=%d", fake_futex.late,
		 fake_futex.spurious, fake_futex.expire,
		 fake_futex.refuse_with);
#endif
	for (int i = 0; i < mixed->nr_boxes; i++)
		box_report(&mixed->boxes[i]);
	for (int i = 0; i < mixed->nr_workers; i++)
		worker_report(&mixed->workers[i]);
	fflush(stdout);
}

/*
 * Move watched_ns on. Between two calls it takes no more than a moment: if they
 * are further apart, nobody in this process has had the time to do anything.
 */
static inline int64_t watch_ns(int64_t now)
{
	static int64_t last;
	int64_t passed = now - last;

	last = now;
	if (passed > LONGEST_PAUSE)
		passed = LONGEST_PAUSE;
	return atomic_fetch_add(&mixed->watched_ns, passed) + passed;
}

/* For the times when this thread itself hangs. */
static inline void feed_watchdog(int64_t now)
{
	static int64_t fed;

	if (now < fed + NS_PER_S)
		return;
	watchdog("mixed stress");
	fed = now;
}

/* Watch the others until @done; false, with a report, if it goes wrong. */
static inline bool await(bool (*done)(void))
{
	const struct timespec moment = { .tv_nsec = NS_PER_MS };
	int64_t oldest, since = watch_ns(blocked_now_ns());
	unsigned long before = 0;

	while (!nr_wrong() && !done()) {
		unsigned long steps = nr_steps();
		int64_t now = blocked_now_ns(), watched = watch_ns(now);

		if (steps != before) {
			since = watched;
			feed_watchdog(now);
		}
		before = steps;
		/* Or a box has been stopped for long, and waits for its due. */
		oldest = since;
		for (int i = 0; i < mixed->nr_boxes; i++) {
			int64_t stopped = mixed->boxes[i].since;

			if (stopped && stopped < oldest)
				oldest = stopped;
		}
		if (watched - oldest > options.patience * NS_PER_S) {
			tap_diag("somebody was forgotten");
			report();
			return false;
		}
		if (options.progress &&
		    now >= run.said + options.progress * NS_PER_S) {
			run.said = now;
			tap_diag("%s: %ld of %ld pairs", run.policy,
				 run.nr_pairs + nr_pairs(), run.want);
		}
		nanosleep(&moment, NULL);
	}
	if (!nr_wrong())
		return true;
	report();
	return false;
}
