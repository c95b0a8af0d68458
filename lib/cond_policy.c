// SPDX-License-Identifier: MIT
/*
 * When to wake and when to move: the only place that decides, and it never
 * affects correctness.
 *
 * Moving pays when the mutex is held: a woken waiter would find it taken and
 * go to sleep a second time. If the caller itself holds it, nobody needs to be
 * woken at all: its unlock wakes the first. If the mutex is free and the
 * critical sections are short, waking is cheaper: each moved waiter costs one
 * more FUTEX_WAKE, by the unlock of the one before it.
 *
 * A single thread is no herd. Whether it had better be woken while the caller
 * still has the mutex depends on who runs first, which every program and
 * machine decides anew: each condvar learns it from those that were woken.
 *
 * With several CPUs the price of moving is not the system call but the time
 * until a CPU that went idle runs the next thread, again for each of the moved
 * ones. So a few of a herd are awake at once, enough to be always on their way
 * while one works; and a thread that finds the mutex held looks at it for about
 * as long as to sleep and to be woken would take. Neither helps where each works
 * for long, or has no CPU to wait on: condvars learn that in the same way.
 *
 * A thread that is the first to wait looks for its signal before it sleeps: if
 * both sides do, a hand-off between CPUs takes a microsecond, where two wake-ups
 * take thirty. It pays if the signal is soon there, and each thread remembers that
 * for each condvar by itself: it needs no lock, and may outlive the condvar. Both
 * sides have to begin at once, so a thread whose partner is suddenly awake when it
 * is signalled looks the next time, too.
 *
 * Threads that hand on to each other, and are more than the CPUs, cannot all look;
 * but the one whose turn is next can. It is called a turn before, and each learns
 * whether its signal then comes.
 *
 * The measurements are in Documentation/benchmarks.rst.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "cond_internal.h"
#include "cond_policy.h"
#include "cpus.h"

/*
 * [POLICY] Both are constant, but the second one only once it is in use: threads
 * that a constructor before ours has started may already wait.
 */
static const struct policy before_load = { .batch = true, .awake = 1 };
static struct policy chosen;
static _Atomic(const struct policy *) in_use = &before_load;

static inline const struct policy *policy(void)
{
	return load_acquire(&in_use);
}

/*
 * About what a wake-up takes until the thread runs, on a CPU that has gone idle,
 * in a virtual machine: to look for as long costs at most twice what to sleep at
 * once would have.
 */
#define LOOK_US 20

/*
 * For how long to look for a signal: longer than a wake-up takes, because the
 * signaller may be on its way out of a sleep itself.
 */
#define WATCH_US 50

/*
 * For how long a thread looks that another one has called: it was woken for that,
 * perhaps by an interrupt to another CPU, which holds up who sends it; and the one
 * before it may have to be woken, too.
 */
#define CALL_US 100

/* Calls in vain in a row that are borne: what upsets one turn upsets some. */
#define CALL_PATIENCE 6

/*
 * How soon a signal has to come for that to have been right: within the look; or
 * before a switch to another thread and back would have taken as long, where
 * others want the CPU.
 */
#define SOON_US		WATCH_US
#define SOON_CROWDED_US 5

/*
 * After each look in vain twice as many waits go without one, up to 2^this. A look
 * in vain takes no longer than the sleep that would have been; but if the
 * signaller could run on this CPU alone, it has lost the time. Then it is a
 * fiftieth.
 */
#define MOST_MISSES	    9
#define MOST_MISSES_CROWDED 10

/* So many hand-offs between threads that are awake fit into one wake-up. */
#define AWAKE 16

/*
 * One that was woken and found the mutex held weighs as much as eight that found
 * it free: it costs two switches, the others save a system call or two. Three
 * in a row that found it held are enough to begin to move, and four that found
 * it free are enough to stop: some signals that would move wake instead, to see.
 * That is every fourth at first, and half as often each time that the mutex was
 * held, down to every 32nd: so what was chance is soon forgotten, and what is
 * the rule is not tried again and again.
 *
 * One of a herd has looked at the mutex before it says that it was held, and the
 * others are spared as much as it has lost.
 *
 * A signaller that has signalled nobody since it last signalled somebody works in
 * batches, as a producer does. One that is moved runs as soon as the mutex is
 * free, takes a single item and sleeps again; one that is woken early and finds
 * the mutex held leaves the signaller the time for more. So a batch weighs as much
 * against moving as one that found the mutex held does for it, and twice as much
 * if it was larger than an item or two: then each side may find it held.
 */
enum {
	FOUND_HELD = 8,
	HERD_FOUND_HELD = 1,
	FOUND_FREE = -1,
	FOUND_BATCH = -8,
	FOUND_LARGE_BATCH = -16,
	MOST_HELD = 4,
	LEAST_HELD = -16,
	LOOK_EVERY = 2,
	MOST_CERTAIN = 4
};

/* The kernel or a sandbox has refused a requeue; never cleared. */
static atomic_bool refused;

/*
 * How many CPUs there are is asked once: where a program has one later the
 * condvars learn it, and files cannot be read in the middle of a wait.
 */
__attribute__((constructor)) static void policy_choose(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");

	chosen = before_load;
	chosen.cpus = cpus_usable();
	if (chosen.cpus > 1) {
		chosen.awake = AWAKE;
		chosen.look_us = LOOK_US;
		chosen.watch_us = WATCH_US;
		chosen.call_us = CALL_US;
	}
	if (forced && !policy_force(forced, &chosen))
		fprintf(stderr,
			"drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
			forced, POLICY_HELP);
	store_release(&in_use, &chosen);
}

void policy_requeue_refused(void)
{
	store_relaxed(&refused, true);
}

/* Do the two halves of requeue-PI exist? Each is asked for a wrong value. */
static bool requeue_pi_works(void)
{
	static futex_word word, target;

	return futex_wait_requeue_pi(&word, 1, NULL, &target) == -EAGAIN &&
	       futex_cmp_requeue_pi(&word, 1, 0, &target) == -EAGAIN;
}

static atomic_int requeue_pi; /* once REFUSED, it stays so */

enum {
	UNKNOWN,
	WORKS,
	REFUSED
};

void policy_requeue_pi_refused(void)
{
	store_relaxed(&requeue_pi, REFUSED);
}

bool policy_requeue_pi(void)
{
	int now = load_relaxed(&requeue_pi), found;

	if (now == UNKNOWN) {
		found = policy()->base != BASE_WAKE_ALL && requeue_pi_works() ?
				WORKS :
				REFUSED;
		if (cas_relaxed(&requeue_pi, &now, found))
			now = found;
	}
	return now == WORKS;
}

bool policy_hopeful(struct cond *c, uint32_t nr_waiters)
{
	bool herd = nr_waiters > 1;
	struct evidence *e = herd ? &c->herd : &c->single;
	enum hope hope = herd ? policy()->herd : policy()->single;

	if (hope != HOPE_LEARNED)
		return hope == HOPE_ALWAYS;
	if (e->held > 0 && ++e->moves < LOOK_EVERY << e->certain)
		return false;
	e->moves = 0;
	return true;
}

int64_t policy_patience(void)
{
	return policy()->look_us * NS_PER_US;
}

static struct watch *watch_of(struct waiter *w, const struct cond *c)
{
	return &w->watches[(uintptr_t)c / sizeof(*c) % WAITER_WATCHES];
}

/* Are there more threads that wait now and then than CPUs? */
static bool crowded(void)
{
	return waiters_alive() > policy()->cpus;
}

void policy_watch_anew(struct waiter *w)
{
	struct watch anew = { 0 };

	if (crowded()) {
		anew.misses = MOST_MISSES_CROWDED;
		anew.skip = (1 << MOST_MISSES_CROWDED) - 1;
	}
	for (int i = 0; i < WAITER_WATCHES; i++)
		w->watches[i] = anew;
}

int64_t policy_watch(struct waiter *w, const struct cond *c)
{
	struct watch *e = watch_of(w, c);

	if (e->skip && !thread_this.invited) {
		e->skip--;
		return 0;
	}
	thread_this.invited = false;
	return policy()->watch_us * NS_PER_US;
}

void policy_watched(struct waiter *w, const struct cond *c, int64_t ns)
{
	struct watch *e = watch_of(w, c);
	bool full = crowded();
	int most = full ? MOST_MISSES_CROWDED : MOST_MISSES;

	if (ns <= (full ? SOON_CROWDED_US : SOON_US) * NS_PER_US)
		e->misses = 0;
	else if (e->misses < most)
		e->misses++;
	e->skip = (1 << e->misses) - 1;
}

bool policy_calls(struct waiter *w)
{
	uint16_t skip = load_relaxed(&w->call_skip);

	if (skip)
		store_relaxed(&w->call_skip, skip - 1);
	return !skip && policy()->call_us;
}

int64_t policy_call(void)
{
	return policy()->call_us * NS_PER_US;
}

void policy_called(struct waiter *w, bool came)
{
	int most = CALL_PATIENCE + MOST_MISSES;
	int misses = came ? 0 : w->call_misses + (w->call_misses < most);

	w->call_misses = misses;
	if (misses > CALL_PATIENCE)
		store_relaxed(&w->call_skip,
			      (1 << (misses - CALL_PATIENCE)) - 1);
}

void policy_met(const struct cond *c, bool awake)
{
	struct thread *self = &thread_this;

	if (awake && self->awake != c)
		self->invited = true;
	if (awake)
		self->awake = c;
	else if (self->awake == c)
		self->awake = NULL;
}

static void weigh(struct evidence *e, int weight)
{
	int held = e->held + weight;

	if (held > 0 && weight > 0 && e->certain < MOST_CERTAIN)
		e->certain++;
	if (held < LEAST_HELD)
		e->certain = 0;
	e->held = held > MOST_HELD  ? MOST_HELD :
		  held < LEAST_HELD ? LEAST_HELD :
				      held;
}

void policy_learn(struct cond *c, enum lesson lesson, bool found_held)
{
	if (lesson == LESSON_HERD)
		weigh(&c->herd, found_held ? HERD_FOUND_HELD : FOUND_FREE);
	else
		weigh(&c->single, found_held ? FOUND_HELD : FOUND_FREE);
}

void policy_learn_batch(struct cond *c, bool large)
{
	if (policy()->batch)
		weigh(&c->single, large ? FOUND_LARGE_BATCH : FOUND_BATCH);
}

static struct wake_plan plan_single(enum mutex_holder holder, bool hopeful)
{
	struct wake_plan early = { .nr_wake = INT_MAX,
				   .lesson = LESSON_SINGLE };
	struct wake_plan wake = { .nr_wake = INT_MAX };
	struct wake_plan move = { .nr_wake = 0, .move = true };

	if (holder != MUTEX_HELD_BY_CALLER)
		return wake;
	return hopeful ? early : move;
}

static struct wake_plan plan_herd(enum mutex_holder holder, bool hopeful)
{
	struct wake_plan wake_all = { .nr_wake = INT_MAX };
	struct wake_plan wake_one = { .nr_wake = 1, .move = true };
	struct wake_plan move_all = { .nr_wake = 0, .move = true };

	if (hopeful && policy()->awake > 1) {
		wake_all.lesson = LESSON_HERD;
		wake_one.lesson = LESSON_HERD;
		wake_one.ahead = policy()->awake - 1;
		move_all.lesson = LESSON_HERD;
		move_all.ahead = policy()->awake - 1;
	}
	if (holder == MUTEX_HELD_BY_CALLER)
		return move_all;
	return holder == MUTEX_FREE && policy()->base == BASE_AUTO ? wake_all :
								     wake_one;
}

struct wake_plan policy_plan(enum mutex_holder holder, bool movable,
			     uint32_t nr_waiters, bool hopeful)
{
	struct wake_plan wake_all = { .nr_wake = INT_MAX };

	if (!movable || policy()->base == BASE_WAKE_ALL ||
	    load_relaxed(&refused))
		return wake_all;
	return nr_waiters == 1 ? plan_single(holder, hopeful) :
				 plan_herd(holder, hopeful);
}
