// SPDX-License-Identifier: MIT
/* How long a thread polls before it sleeps, and what that is worth. */
#include <sched.h>
#include <sys/param.h>

#include "base/cpus.h"
#include "base/poll.h"

/* Between two looks at the clock, which take about as long. */
#define POLLS_PER_CLOCK 8

/* How long a thread polls until it lets others run who want the CPU. */
#define SLICE_NS (2 * NS_PER_US)

/*
 * What is measured starts at a guess and stays within limits: no machine wakes
 * a thread in less than the least, and above the most the thread was held up
 * by something else. Every SAMPLE_EVERYth sleep or wake-up is timed.
 */
#define LATENCY_LEAST (2 * NS_PER_US)
#define LATENCY_MOST  (100 * NS_PER_US)
#define COST_LEAST    (NS_PER_US / 2)
#define COST_MOST     (25 * NS_PER_US)
#define SAMPLE_EVERY  32

/* Of what a sleep costs, one part in so many may be spent in vain. */
#define IN_VAIN 50
/* So many polls may be saved up; an account begins with them. */
#define SAVED 8
/* From so many CPU times of a sleep on the turn of another thread is long. */
#define LONG_TURN 16
/* May be lost by those: a few slices of a scheduler. */
#define MOST_LOST (10 * 1000 * NS_PER_US)

/**
 * struct measured - what sleeping costs in this process, in nanoseconds
 * @latency: from the call that wakes a thread until it runs: how long a poll
 *	     lasts at most
 * @fixed: poll_limit() has said so
 * @sleep: CPU time of a sleep
 * @wake: of the call that ends it
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

/* A wake-up that is being timed: of a sleeper on @word, called at @at. */
static struct {
	_Atomic(futex_word *) word;
	_Atomic int64_t at;
} timed;

static _Thread_local uint32_t nr_sleeps, nr_wakes;

/* How often a thread that polls has let others run. */
static _Atomic uint32_t nr_turns;

/* Files are read, so not in the middle of a wait. */
__attribute__((constructor)) static void poll_start(void)
{
	store_relaxed(&measured.cpus, cpus_usable());
}

void poll_limit(uint32_t us)
{
	store_relaxed(&measured.fixed, true);
	store_relaxed(&measured.latency, us * NS_PER_US);
}

bool poll_has_cpu(void)
{
	return load_relaxed(&measured.cpus) > 1;
}

/* What a sleep and its wake-up cost. */
static int64_t cost_ns(void)
{
	return load_relaxed(&measured.sleep) + load_relaxed(&measured.wake);
}

/* @ns: below 0 if it was earned. A latency that falls forgives nothing. */
static void pay(struct poll_account *a, int64_t ns)
{
	int64_t most = (SAVED + 1) * load_relaxed(&measured.latency);

	a->spent = MAX(0, MIN(a->spent + ns, MAX(most, a->spent)));
	if (ns < 0)
		a->lost = MAX(0, a->lost + ns);
}

/* May others run? Not by a real-time thread. musl's own function is ENOSYS. */
static bool may_yield(void)
{
	int policy = syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_OTHER || policy == SCHED_BATCH ||
	       policy == SCHED_IDLE;
}

/*
 * Poll for @ns, and let others run in between, until one did or the time is
 * over: a yield longer than @least has let others run. What they did is not ours
 * to pay, but for the switch: it is taken out of @begin. Once they want the CPU
 * nobody polls for longer than a wake-up takes; or than a second, or @left.
 *
 * But a yield may leave the CPU to a thread that waits for nothing, and a sleeper
 * would get it when it is woken. So what took longer than @most for the turn of
 * each who has run is lost, for sleeps and polls that come to make up for. Those
 * who @meet run for a moment each, and wait for each other whatever it takes.
 */
static bool poll_politely(struct poll_account *a, bool (*poll)(void *arg),
			  void *arg, int64_t ns, int64_t left, bool meet)
{
	int64_t sleep = load_relaxed(&measured.sleep);
	int64_t least = meet ? sleep / 4 : sleep;
	int64_t most = meet ? INT64_MAX : LONG_TURN * sleep, away;
	uint32_t cpus = load_relaxed(&measured.cpus), turns;
	bool found = false;
	int64_t now = clock_now(), begin = now, yield_at = now, before = 0;
	int64_t end = now + MIN(ns, left), last = now + MIN(left, NS_PER_S);

	if (cpus > 1 && !a->crowded)
		yield_at += SLICE_NS;
	while (!found && now < end) {
		if (now < yield_at) {
			for (int i = 0; i < POLLS_PER_CLOCK && !found; i++) {
				cpu_relax();
				found = poll(arg);
			}
			now = found ? now : clock_now();
			continue;
		}
		if (!before && !may_yield())
			break;
		before = now;
		turns = load_relaxed(&nr_turns);
		sched_yield();
		now = clock_now();
		found = poll(arg);
		yield_at = now + SLICE_NS;
		a->crowded = now - before > least;
		if (a->crowded) {
			away = now - before - sleep;
			turns = 1 + (add_relaxed(&nr_turns, 1) - turns) / cpus;
			if (away / turns > most)
				a->lost = MIN(a->lost + away, 2 * MOST_LOST);
			begin += away;
			end = MIN(MIN(end + away, last),
				  now + load_relaxed(&measured.latency));
			yield_at = now;
		}
		if (cpus == 1 || a->lost >= MOST_LOST)
			break;
	}
	pay(a, now - begin - (found ? cost_ns() : 0));
	return found;
}

bool poll_before_sleep(struct poll_account *a, bool (*poll)(void *arg),
		       void *arg, int64_t left)
{
	int32_t latency = load_relaxed(&measured.latency);
	bool found = poll(arg);

	if (found || a->spent >= SAVED * latency || a->lost >= MOST_LOST)
		return found;
	found = poll_politely(a, poll, arg, latency, left, false);
	PROBE(spin, 0, found);
	if (unlikely(drover_probe))
		drover_probe(PROBE_SPUN, 0, found);
	return found;
}

bool poll_for(struct poll_account *a, bool (*poll)(void *arg), void *arg,
	      int64_t ns)
{
	return load_relaxed(&measured.latency) &&
	       poll_politely(a, poll, arg, ns, INT64_MAX, true);
}

/* Towards @ns by one part in eight: others' samples may get lost. */
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
	long ret = futex_wait_for(word, val, deadline, shared, bits, NULL);

	if (ret == 0) {
		/* Pairs with the release in wake_sleepers(): the time is this word's. */
		if (load_acquire(&timed.word) == word) {
			if (!load_relaxed(&measured.fixed))
				note(&measured.latency,
				     clock_now() - load_relaxed(&timed.at),
				     LATENCY_LEAST, LATENCY_MOST);
			store_relaxed(&timed.word, NULL);
		}
		pay(a, -cost_ns() / IN_VAIN);
		if (sampled)
			note(&measured.sleep,
			     clock_read(CLOCK_THREAD_CPUTIME_ID) - begin,
			     COST_LEAST, COST_MOST);
	}
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
	store_release(&timed.word, word);
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
