/* SPDX-License-Identifier: MIT */
/*
 * Polling before sleeping. All polls of the library go through here, and this
 * file limits what they may cost. The method is competitive spinning (A.
 * Karlin, K. Li, M. Manasse, S. Owicki, "Empirical Studies of Competitive
 * Spinning for a Shared-Memory Multiprocessor", SOSP 1991).
 *
 * A thread polls for at most as long as the wake-up of a sleeping thread takes,
 * which the library measures in the running program. Each poll charges its time
 * to an account. A poll that has saved a sleep pays the measured cost of a
 * sleep and its wake-up into the account, and each sleep pays a fiftieth of
 * that cost. A thread whose account is empty sleeps at once.
 *
 * A polling thread yields every two microseconds. If another thread ran during
 * a yield, the polling thread yields again at once instead of spinning.
 * A real-time thread yields only if it waits for threads like itself and each
 * of them can have a CPU. Threads that wait for each other, each with a CPU, do
 * not gain by a yield, so they yield only after they have polled for as long as
 * a yield has cost them lately.
 */
#ifndef DROVER_POLL_H
#define DROVER_POLL_H

#include "base/atomic.h"
#include "base/futex.h"
#include "base/probe.h"

/* One part in this many of a sleep's cost may be spent on polls in vain. */
#define POLL_IN_VAIN 50
/*
 * The most that may be paid in advance for long turns of other threads: a few
 * time slices. At a barrier a thread may lose this much before anything is
 * paid.
 */
#define POLL_MOST_LOST (10 * 1000 * NS_PER_US)

/**
 * struct poll_account - what one thread may spend on polling for one kind of
 * thing
 * @spent: nanoseconds of polls that nothing has paid for yet. The account is
 *	   empty when @spent reaches the most that may be saved up.
 * @lost: nanoseconds for which yields left the CPU to threads that compute, and
 *	  that nothing has paid for yet. If it is below 0, successful polls and
 *	  sleeps have paid in advance. The account is also empty when @lost
 *	  reaches an eighth of POLL_MOST_LOST.
 * @turn: nanoseconds for which others have lately kept the CPU when the thread
 *	  yielded, on average. Only for threads that wait for each other, each
 *	  with a CPU.
 * @crowded: other threads wanted the CPU when the thread yielded last
 *
 * An account of all zero bytes is valid.
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
 * @poll: has the event happened for which the caller waits?
 * @arg: for @poll
 * @left: nanoseconds until the caller's deadline; INT64_MAX: no deadline
 *
 * Return: true if the event has happened. If not, the caller sleeps, with
 * sleep_on().
 */
APART bool poll_before_sleep(struct poll_account *a, bool (*poll)(void *arg),
			     void *arg, int64_t left);

/*
 * The same for at most @ns of the thread's own time, even if the account is
 * empty, for @nr_meet threads that wait for each other. The caller learns how
 * long such a wait takes, and sets @a->turn to 0 when the missing thread needs
 * the caller's CPU.
 */
APART bool poll_for(struct poll_account *a, bool (*poll)(void *arg), void *arg,
		    int64_t ns, int64_t left, uint32_t nr_meet);

/* Return: how many CPUs the process may use, as counted last. */
unsigned int poll_cpus(void);

/* Is there a CPU on which other threads run while the caller polls? */
#define poll_has_cpu() (poll_cpus() > 1)

/*
 * Count the CPUs again for threads that poll, as at the start of the process.
 * Return: cpus_usable(), which reads files.
 */
unsigned int poll_count_cpus(void);

/**
 * poll_limit() - fix how long a thread polls
 * @us: microseconds; 0: no thread polls or yields
 */
void poll_limit(uint32_t us);

/* futex_wait_for() without a PI lock. The sleep pays into the account @a. */
SLEEPS long sleep_on(futex_word *word, uint32_t val,
		     const struct deadline *deadline, bool shared,
		     uint32_t bits, struct poll_account *a);

/* futex_wake() for threads in sleep_on(). Some wake-ups are timed. */
SLEEPS long wake_sleepers(futex_word *word, int nr_wake, bool shared);

/* Return: nanoseconds until @deadline; INT64_MAX without a deadline. */
int64_t time_left(const struct deadline *deadline);

#endif /* DROVER_POLL_H */
