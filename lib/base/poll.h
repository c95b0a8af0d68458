/* SPDX-License-Identifier: MIT */
/*
 * Polling before sleeping: the one way to do so in the library, and what it may
 * cost: competitive spinning (A. Karlin, K. Li, M. Manasse, S. Owicki,
 * "Empirical Studies of Competitive Spinning for a Shared-Memory
 * Multiprocessor", SOSP 1991).
 *
 * A thread polls for at most as long as it takes to wake one that sleeps, as
 * measured in this process. A poll charges the time that it took to an account;
 * one that has spared a sleep adds what a sleep and its wake-up cost, measured
 * too, and each sleep adds one part in fifty of that. A thread whose account is
 * empty sleeps at once. A thread that polls yields every few microseconds, and
 * where another one ran meanwhile it only yields; a thread of a real-time
 * policy never yields, unless it waits for its like and each can have a CPU.
 * Threads that wait for each other do not gain by a yield then, and yield only
 * after they have polled for as long as a yield has cost them.
 */
#ifndef DROVER_POLL_H
#define DROVER_POLL_H

#include "base/atomic.h"
#include "base/futex.h"
#include "base/probe.h"

/* One part in so many of what a sleep costs may be spent on polls in vain. */
#define POLL_IN_VAIN 50
/* An account is empty when long turns have taken this: a scheduler's few slices. */
#define POLL_MOST_LOST (10 * 1000 * NS_PER_US)

/**
 * struct poll_account - what one thread may spend on polling for one kind of
 * thing
 * @spent: nanoseconds of polls that nothing has paid for yet. The account is
 *	   empty when that is as much as may be saved up.
 * @lost: nanoseconds in which a yield left the CPU to threads that compute, and
 *	  that nothing has paid for yet. Too many make the account empty as well.
 * @turn: nanoseconds for which others have lately kept the CPU when the thread
 *	  yielded, on average: of threads that meet where each can have a CPU
 * @crowded: others wanted the CPU the last time
 *
 * All zero bytes are a valid one.
 */
struct poll_account {
	int32_t spent;
	int32_t lost;
	int32_t turn;
	bool crowded;
};

/**
 * poll_before_sleep() - poll before sleeping
 * @a: the caller's account
 * @poll: has what is waited for come?
 * @arg: for @poll
 * @left: nanoseconds that the caller has got; INT64_MAX: any time
 *
 * Return: whether it has come. A caller that is told false sleeps, with
 * sleep_on().
 */
APART bool poll_before_sleep(struct poll_account *a, bool (*poll)(void *arg),
			     void *arg, int64_t left);

/*
 * The same for @ns of the thread's own time at most, whatever the account says. It is
 * for @nr_meet threads that wait for each other. The caller learns how long that
 * takes, and sets @a->turn to 0 when the missing thread needs the same CPU.
 */
APART bool poll_for(struct poll_account *a, bool (*poll)(void *arg), void *arg,
		    int64_t ns, int64_t left, uint32_t nr_meet);

/* Is there a CPU on which others run while the caller polls? */
bool poll_has_cpu(void);

/* How many CPUs the process may use, as counted last. */
unsigned int poll_cpus(void);

/*
 * Find out how many CPUs there are for those that poll, as at the start of the
 * process. Return: cpus_usable(), which reads files.
 */
unsigned int poll_count_cpus(void);

/**
 * poll_limit() - fix how long a thread polls
 * @us: microseconds; 0: no thread polls or yields
 */
void poll_limit(uint32_t us);

/* futex_wait_for() without a PI lock. The sleep is entered in the account. */
SLEEPS long sleep_on(futex_word *word, uint32_t val,
		     const struct deadline *deadline, bool shared,
		     uint32_t bits, struct poll_account *a);

/* futex_wake() of threads that sleep by sleep_on(). Some wake-ups are timed. */
SLEEPS long wake_sleepers(futex_word *word, int nr_wake, bool shared);

/* Return: nanoseconds until @deadline; INT64_MAX without a deadline. */
int64_t time_left(const struct deadline *deadline);

#endif /* DROVER_POLL_H */
