// SPDX-License-Identifier: MIT
/* How long a thread polls before it sleeps, and what a poll is worth. */
#include <sched.h>
#include <sys/param.h>

#include "base/cpus.h"
#include "base/poll.h"

/*
 * The polls between two reads of the clock. They take about as long as a read.
 */
#define POLLS_PER_CLOCK 8

/*
 * The time that a thread polls before it yields to threads that want the CPU.
 */
#define SLICE_NS (2 * NS_PER_US)

/*
 * Each measured value starts with a guess and stays within limits. No machine
 * wakes a thread in less time than the lower limit. If a wake-up takes more
 * time than the upper limit, something else has held the thread up. Every
 * SAMPLE_EVERYth sleep or wake-up is timed.
 */
#define LATENCY_LEAST (2 * NS_PER_US)
#define LATENCY_MOST  (100 * NS_PER_US)
#define COST_LEAST    (NS_PER_US / 2)
#define COST_MOST     (25 * NS_PER_US)
#define SAMPLE_EVERY  32
/*
 * The first sleep of a thread, and each COUNT_EVERYth after it, counts the
 * CPUs.
 */
#define COUNT_EVERY 1024

/* The most polls that may be saved up. A new account has this many. */
#define SAVED 8
/* The long turns for which a new account can pay: less than a time slice. */
#define LOST_AT_FIRST (POLL_MOST_LOST / SAVED)
/*
 * Another thread's turn is long if it takes this many times a sleep's CPU time.
 */
#define LONG_TURN 16

/**
 * struct measured - what sleeping costs in this process, in nanoseconds
 * @latency: time from the call that wakes a thread until the thread runs, which
 *	     is the longest time that a poll lasts
 * @fixed: poll_limit() has set @latency, which is then not measured
 * @sleep: CPU time of a sleep
 * @wake: time of the call that ends a sleep
 * @cpus: CPUs that the process may use
 */
static struct {
	_Atomic int32_t latency;
	atomic_bool fixed;
	_Atomic int32_t sleep;
	_Atomic int32_t wake;
	_Atomic uint32_t cpus;
} measured = {
	.latency = 20 * NS_PER_US,
	.sleep = 3 * NS_PER_US,
	.wake = 2 * NS_PER_US,
	.cpus = 1,
};

/*
 * The wake-up that is being timed: the call for sleepers on @word, at time @at.
 *
 * [T-TIMED] The sleeper reads the time of its own wake-up:
 *
 *   CPU 0                              CPU 1
 *   wake_sleepers()                    sleep_on()
 *
 *                                        FUTEX_WAIT(word)
 *     timed.word = NULL;
 *     timed.at = now;
 *     timed.word = word; release (A) <-.
 *     FUTEX_WAKE(word)                 |
 *                                      `-> timed.word == word? acquire (B)
 *                                          latency = now - timed.at;
 *
 * (A) pairs with (B). Impossible: (B) finds its own word, and @at is older than
 * (A). But @at can be newer, if by now the wake-up of another word is timed:
 * the sample is then wrong, and nothing else is.
 */
static struct {
	_Atomic(futex_word *) word;
	_Atomic int64_t at;
} timed;

static _Thread_local uint32_t nr_sleeps, nr_wakes;

/*
 * How many turns of threads have ended: a turn ends with a sleep, or with a
 * yield of a polling thread that has let other threads run.
 */
static _Atomic uint32_t nr_turns;

/*
 * The process may have got more CPUs. A lower number says nothing about other
 * threads, because the caller alone may have been pinned.
 */
static void note_cpus(uint32_t nr)
{
	if (nr > load_relaxed(&measured.cpus))
		store_relaxed(&measured.cpus, nr);
}

unsigned int poll_count_cpus(void)
{
	unsigned int nr = cpus_usable();

	note_cpus(nr);
	return nr;
}

/*
 * Runs at the start: it reads files, which takes too long in the middle of a
 * wait.
 */
__attribute__((constructor)) static void poll_start(void)
{
	poll_count_cpus();
}

void poll_limit(uint32_t us)
{
	store_relaxed(&measured.fixed, true);
	store_relaxed(&measured.latency, us * NS_PER_US);
}

unsigned int poll_cpus(void)
{
	return load_relaxed(&measured.cpus);
}

/* Return: the cost of a sleep and its wake-up. */
static int64_t cost_ns(void)
{
	return load_relaxed(&measured.sleep) + load_relaxed(&measured.wake);
}

/*
 * Enter in the account the cost of a poll, or the payment of a sleep.
 * @own: nanoseconds of the caller's own time; below 0 if they were earned
 * @others: nanoseconds for which threads that compute had the CPU. Later sleeps
 *	    and successful polls pay them back.
 *
 * Earned time is taken from @spent and from @lost alike. If the latency falls, and
 * with it the limit of @spent, no debt is forgiven.
 */
static void charge(struct poll_account *a, int64_t own, int64_t others)
{
	int64_t most = (SAVED + 1) * load_relaxed(&measured.latency);

	a->spent = MAX(0, MIN(a->spent + own, MAX(most, a->spent)));
	if (own < 0)
		a->lost = MAX(-POLL_MOST_LOST, a->lost + own);
	if (others)
		a->lost = MIN(a->lost + others, 2 * POLL_MOST_LOST);
}

/**
 * struct polling - a poll that is under way
 * @a: the account to which it is charged
 * @poll: has the event happened for which the caller waits?
 * @arg: for @poll
 * @found: the event has happened
 * @yields: the caller is known to have a scheduling policy under which it
 *	    yields
 * @meet: the caller and other threads wait for each other
 * @apart: these threads can have a CPU each
 *
 * The other fields are points in time, in nanoseconds on CLOCK_MONOTONIC:
 *
 * @now: the clock as it was read last
 * @begin: when the poll began, plus the time for which others had the CPU
 * @yield_at: when the caller lets others run next
 * @end: when the poll ends in vain; put off like @begin
 * @last: the latest time to which @end can be put off
 */
struct polling {
	struct poll_account *a;
	bool (*poll)(void *arg);
	void *arg;
	bool found;
	bool yields;
	bool meet;
	bool apart;
	int64_t now;
	int64_t begin;
	int64_t yield_at;
	int64_t end;
	int64_t last;
};

/*
 * Threads that are @apart gain nothing by a yield: the missing thread runs on
 * another CPU, or waits for a CPU that another process has. But a thread that
 * has yielded to one that computes misses the time in which all of them could
 * run. So before such threads yield, they poll for as long as a yield has cost
 * them lately. At worst this costs twice as much as the better of the two
 * choices, which are to yield at once and not to yield.
 */
static void put_off_yield(struct polling *p)
{
	p->yield_at = MAX(p->yield_at, p->now + p->a->turn);
}

/* Note that a yield has left the CPU to others for @away; 0: none wanted it. */
static void learn_turn(struct polling *p, int64_t away)
{
	away = MIN(away, POLL_MOST_LOST);
	p->a->turn = (int32_t)((INT64_C(7) * p->a->turn + away) / 8);
	put_off_yield(p);
}

/*
 * Yield once, and poll. Return: true if the poll goes on. With one CPU the poll
 * ends here, so a thread yields only once.
 *
 * A yield of a real-time thread lets only threads of the same priority run, and
 * keeps the CPU from threads of a lower one. So a real-time thread yields only
 * if it waits for threads like itself and each of them can have a CPU. A
 * SCHED_DEADLINE thread never yields: it would have no CPU until its next
 * period.
 *
 * If other threads ran, the caller pays only for the switch, not for their
 * time: @begin and @end are put off. But other threads want the CPU, so from
 * now on the poll takes no longer than a wake-up, and the next yield follows at
 * once.
 *
 * A yield may leave the CPU to a thread that computes, for as long as the
 * scheduler likes; a sleeper would get the CPU back when it is woken. So if the
 * threads that ran took more than a LONG_TURN each, the time is charged to the
 * account after all. The number of these threads is an estimate: one, plus this
 * CPU's share of the other threads' turns that ended meanwhile.
 *
 * Threads that @meet run for a moment each, so even a shorter yield shows that
 * others ran. If they are @apart, none of them waits for this CPU, so the
 * threads that ran are none of them. The time of these threads is not charged:
 * put_off_yield() takes account of it.
 */
static bool let_others_run(struct polling *p)
{
	/* A switch to another thread and back costs as much as a sleep. */
	int64_t cost = load_relaxed(&measured.sleep), before = p->now, away;
	int64_t latency = load_relaxed(&measured.latency);
	uint32_t cpus = load_relaxed(&measured.cpus), turns;

	if (!p->yields) {
		/* musl's own function only returns ENOSYS. */
		int policy = syscall(SYS_sched_getscheduler, 0) &
			     ~SCHED_RESET_ON_FORK;

		p->yields = policy == SCHED_OTHER || policy == SCHED_BATCH ||
			    policy == SCHED_IDLE ||
			    (p->apart &&
			     (policy == SCHED_FIFO || policy == SCHED_RR));
		if (!p->yields)
			return false;
	}
	turns = load_relaxed(&nr_turns);
	sched_yield();
	p->now = clock_now();
	p->found = p->poll(p->arg);
	p->a->crowded = p->now - before > (p->meet ? cost / 4 : cost);
	p->yield_at = p->now + (p->a->crowded ? 0 : SLICE_NS);
	if (p->apart)
		learn_turn(p, p->a->crowded ? p->now - before : 0);
	if (p->a->crowded) {
		away = p->now - before - cost;
		turns = 1 + (add_relaxed(&nr_turns, 1) - turns) / cpus;
		if (!p->apart && away / turns > LONG_TURN * cost)
			charge(p->a, 0, away);
		p->begin += away;
		p->end = MIN(p->end + away, p->last);
		if (!p->apart)
			p->end = MIN(p->end, p->now + latency);
	}
	return cpus > 1 &&
	       p->a->lost < (p->meet ? POLL_MOST_LOST : LOST_AT_FIRST);
}

/*
 * Threads that are @apart have polled a few times. If these polls took longer
 * than a LONG_TURN, another thread has preempted the caller for a turn. The
 * caller does not pay for this time, and goes on as after a yield: if it
 * yielded at once, it would give the CPU away twice.
 */
static void look_at_clock(struct polling *p)
{
	int64_t before = p->now, away;

	p->now = clock_now();
	away = p->now - before;
	if (away > LONG_TURN * load_relaxed(&measured.sleep)) {
		p->begin += away;
		p->end = MIN(p->end + away, p->last);
		p->yield_at = p->now + SLICE_NS;
		put_off_yield(p);
	}
}

/*
 * Poll for @ns of the caller's own time, and let other threads run in between.
 * They can make the poll longer, but not longer than @left or a second.
 * @nr_meet: the number of threads that wait for each other, the caller
 * included; or 0.
 */
static bool poll_politely(struct poll_account *a, bool (*poll)(void *arg),
			  void *arg, int64_t ns, int64_t left, uint32_t nr_meet)
{
	uint32_t cpus = load_relaxed(&measured.cpus);
	int64_t now = clock_now();
	struct polling p = {
		.a = a,
		.poll = poll,
		.arg = arg,
		.meet = nr_meet,
		.apart = nr_meet && nr_meet <= cpus,
		.now = now,
		.begin = now,
		.yield_at = now,
		.end = now + MIN(ns, left),
		.last = now + MIN(left, NS_PER_S),
	};

	/* If others wanted the CPU the last time, the thread yields at once. */
	if (cpus > 1 && !a->crowded)
		p.yield_at += SLICE_NS;
	if (p.apart)
		put_off_yield(&p);
	while (!p.found && p.now < p.end) {
		if (p.now >= p.yield_at) {
			if (!let_others_run(&p))
				break;
			continue;
		}
		for (int i = 0; i < POLLS_PER_CLOCK && !p.found; i++) {
			cpu_relax();
			p.found = poll(arg);
		}
		if (p.found)
			break;
		if (p.apart)
			look_at_clock(&p);
		else
			p.now = clock_now();
	}
	charge(a, p.now - p.begin - (p.found ? cost_ns() : 0), 0);
	return p.found;
}

bool poll_before_sleep(struct poll_account *a, bool (*poll)(void *arg),
		       void *arg, int64_t left)
{
	int32_t latency = load_relaxed(&measured.latency);
	bool found = poll(arg);

	if (found || a->spent >= SAVED * latency || a->lost >= LOST_AT_FIRST)
		return found;
	found = poll_politely(a, poll, arg, latency, left, 0);
	PROBE(spin, 0, found);
	if (unlikely(drover_probe))
		drover_probe(PROBE_SPUN, 0, found);
	return found;
}

bool poll_for(struct poll_account *a, bool (*poll)(void *arg), void *arg,
	      int64_t ns, int64_t left, uint32_t nr_meet)
{
	bool found = load_relaxed(&measured.latency) &&
		     poll_politely(a, poll, arg, ns, left, nr_meet);

	/* Nothing is paid in advance: the caller counts from 0. */
	a->lost = MAX(0, a->lost);
	return found;
}

/*
 * Move @value towards @ns by one part in eight. The load and the store are not
 * one atomic step: if several threads note a sample, some samples may get lost.
 */
static void note(_Atomic int32_t *value, int64_t ns, int64_t least,
		 int64_t most)
{
	int64_t old = load_relaxed(value);

	store_relaxed(value, old + (MAX(least, MIN(ns, most)) - old) / 8);
}

long sleep_on(futex_word *word, uint32_t val, const struct deadline *deadline,
	      bool shared, uint32_t bits, struct poll_account *a)
{
	bool sampled = nr_sleeps++ % SAMPLE_EVERY == 0;
	int64_t begin = sampled ? clock_read(CLOCK_THREAD_CPUTIME_ID) : 0;
	long ret;

	add_relaxed(&nr_turns, 1);
	ret = futex_wait_for(word, val, deadline, shared, bits, NULL);
	if (ret == 0) {
		/* [T-TIMED] */
		if (load_acquire(&timed.word) == word) {
			if (!load_relaxed(&measured.fixed))
				note(&measured.latency,
				     clock_now() - load_relaxed(&timed.at),
				     LATENCY_LEAST, LATENCY_MOST);
			store_relaxed(&timed.word, NULL);
		}
		charge(a, -cost_ns() / POLL_IN_VAIN, 0);
		if (sampled)
			note(&measured.sleep,
			     clock_read(CLOCK_THREAD_CPUTIME_ID) - begin,
			     COST_LEAST, COST_MOST);
	}
	if (nr_sleeps % COUNT_EVERY == 1)
		note_cpus(cpus_usable_by(0));
	return ret;
}

long wake_sleepers(futex_word *word, int nr_wake, bool shared)
{
	int64_t begin;
	long ret;

	if (nr_wakes++ % SAMPLE_EVERY)
		return futex_wake(word, nr_wake, shared);
	begin = clock_now();
	store_relaxed(&timed.word, NULL);
	store_relaxed(&timed.at, begin);
	store_release(&timed.word, word); /* [T-TIMED] */
	ret = futex_wake(word, nr_wake, shared);
	if (ret > 0)
		note(&measured.wake, (clock_now() - begin) / ret, COST_LEAST,
		     COST_MOST);
	else
		store_relaxed(&timed.word, NULL);
	return ret;
}

int64_t time_left(const struct deadline *deadline)
{
	const int64_t most = INT64_MAX / NS_PER_S - 1;

	if (!deadline)
		return INT64_MAX;
	return MAX(0, MIN(deadline->at.tv_sec, most)) * NS_PER_S +
	       deadline->at.tv_nsec - clock_read(deadline->clock);
}
