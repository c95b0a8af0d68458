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
 * ones. So some of a herd are awake at once, enough to be always on their way
 * while one works. Where each works for long that does not help: condvars learn
 * it in the same way.
 *
 * A thread that finds a mutex held looks at it before it sleeps, for about as long
 * as to sleep and to be woken would take, and lets others have the CPU: the holder
 * may have lost it. With one CPU that is all it can do. Threads that do so in vain
 * do it less and less often.
 *
 * A thread that is the first to wait looks for its signal before it sleeps: if
 * both sides do, a hand-off between CPUs takes a microsecond, where two wake-ups
 * take thirty. It pays if the signal is soon there, and each thread remembers that
 * for each condvar by itself: it needs no lock, and may outlive the condvar. Both
 * sides have to begin at once, so a thread whose partner is suddenly awake when it
 * is signalled looks the next time, too.
 *
 * Where threads are more than the CPUs, the signaller may have no other CPU than
 * the waiter's. So that one gives way before it sleeps, once: if it is signalled
 * then, two system calls are spared for one.
 *
 * Who has released several and then waits is to be answered by the last of them,
 * as a rule. To sleep would make its CPU idle, and to come out of that takes
 * longer than a small herd does. So it looks as long as nobody else wants the CPU,
 * and each thread remembers whether that pays.
 *
 * Threads that are called together again and again come back together. Each gives
 * way before it sleeps: the others have their turns, then whoever calls them
 * again, and none of them has to be woken. Each condvar remembers whether that pays.
 *
 * With one CPU the threads that are signalled one by one can only run one by one,
 * and the first may do what all were called for. So it alone is woken; and if a few
 * more signals have come until it runs, it gives way before it wakes the next one:
 * the others have their turns, and make more of what it has come for.
 *
 * Threads that hand on to each other, and are more than the CPUs, cannot all look;
 * but the one whose turn is next can. It is called a turn before, and each learns
 * whether its signal then comes.
 *
 * The measurements are in Documentation/benchmarks.rst.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cond/cond.h"
#include "cond/policy.h"
#include "base/cpus.h"

/*
 * [POLICY] Both are constant, but the second one only once it is in use: threads
 * that a constructor before ours has started may already wait.
 */
static const struct policy before_load = {
	.batch = true,
	.awake = 1,
	.stay = HOPE_NEVER,
	.relay_over = RELAY_NEVER,
};
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
 * With one CPU to give it away takes as long as the turns of all who want it, and
 * each of them may find the mutex held, too. With more threads than this who sleeps
 * is woken before that.
 */
#define MANY_LOOKERS 64

/*
 * Who gets the CPU that a thread gives away may keep it for a slice of the
 * scheduler's, 1.4 to 3 milliseconds, though what the thread waits for has come
 * long before; had it slept, it would have been woken. So being away for long
 * counts as in vain. But many need a while to go round; and how long a herd does, its
 * condvar finds out.
 */
#define LONGEST_ABSENCE_US 1000
#define ABSENCE_EACH_US	   2

/*
 * A slice is as much as some hundred sleeps. So after one that was lost so many
 * times 2^this the thread sleeps at once; that the next ones go well halves it.
 */
#define AWAY_MISSES 12

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

/*
 * Who waits for a herd looks as long, for the same reason: the last of them may
 * have had to be woken. It takes nobody's CPU, so it is tried more often than
 * other looks; a CPU that is given away and back in less than a switch takes was
 * wanted by nobody.
 */
#define AWAIT_US	  100
#define MOST_MISSES_AWAIT 5

/*
 * A herd that was called so often stays awake once, and goes on to do so as long as
 * less than this share of it sleeps; else up to 2^this rounds go by before it does
 * again. To give way once is enough as a rule; but those who were asleep before
 * have run less, and the scheduler lets others go first.
 *
 * With one CPU that is what decides: who has just woken them all has had more than
 * its share of it, and would have its turn after they have given way in vain. So
 * the first of them that runs wakes the others there, when they begin to stay.
 */
#define STAY_AFTER	 8
#define STAY_SHARE	 2
#define STAY_TIMES	 3
#define MOST_MISSES_STAY 8

/*
 * They may be away longer by one part in so many than a round takes if they sleep.
 * Of a round longer than those before it one part in so many of the rest counts.
 */
#define ROUND_SHARE  2
#define ROUND_LONGER 8

/*
 * Of a few threads those who look for their signal, giving way once, are spared the
 * sleep more often than relays spare it.
 */
#define FEW_TO_RELAY 9

/*
 * Where more than so many signals were sent already there is no need to let others
 * run that may send more.
 */
#define MOST_TO_WAIT 4

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

/*
 * So many hand-offs between threads that are awake fit into one wake-up. Of a
 * large herd more sleep again, and then the CPUs run out of threads.
 */
#define AWAKE	    16
#define AWAKE_SHARE 16

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

/*
 * How many CPUs there are is asked once: where a program has one later the
 * condvars learn it, and files cannot be read in the middle of a wait.
 */
__attribute__((constructor)) static void policy_choose(void)
{
	const char *forced = secure_getenv("DROVER_POLICY");

	chosen = before_load;
	chosen.cpus = cpus_usable();
	chosen.looks = LOOKS;
	chosen.watch_once = true;
	chosen.stay = HOPE_LEARNED;
	if (chosen.cpus == 1)
		chosen.relay_over = FEW_TO_RELAY;
	if (chosen.cpus > 1) {
		chosen.look_us = LOOK_US;
		chosen.awake = 0;
		chosen.watch_us = WATCH_US;
		chosen.await_us = AWAIT_US;
		chosen.call_us = CALL_US;
	}
	if (forced && !policy_force(forced, &chosen))
		fprintf(stderr,
			"drover: DROVER_POLICY=%s is unknown, using auto; it may be %s\n",
			forced, POLICY_HELP);
	store_release(&in_use, &chosen);
}

bool policy_may_move(void)
{
	return policy()->base != BASE_WAKE_ALL;
}

bool policy_hopeful(struct cond *c, uint32_t nr_waiters)
{
	bool herd = nr_waiters > 1;
	struct evidence *e = herd ? &c->herd : &c->single;
	enum hope hope = herd ? policy()->herd : policy()->single;

	if (hope != HOPE_LEARNED)
		return hope == HOPE_ALWAYS;
	if (load_relaxed(&e->held) > 0 &&
	    ++e->moves < LOOK_EVERY << load_relaxed(&e->certain))
		return false;
	e->moves = 0;
	return true;
}

static bool is_due(struct watch *e)
{
	if (!e->skip)
		return true;
	e->skip--;
	return false;
}

_Static_assert(MOST_MISSES_CROWDED <= WATCH_SKIP_BITS &&
		       AWAY_MISSES <= WATCH_SKIP_BITS,
	       "struct watch can skip 2^misses - 1 times");

static void set_misses(struct watch *e, int misses)
{
	e->misses = misses;
	e->skip = (1 << misses) - 1;
}

static void note(struct watch *e, bool paid, int most)
{
	set_misses(e, paid ? 0 : e->misses + (e->misses < most));
}

unsigned int policy_looks(void)
{
	/* Without a time to look, that is to let all others go first. */
	if (!policy()->look_us && waiters_alive() > MANY_LOOKERS)
		return 0;
	return is_due(&thread_this.looks) ? policy()->looks : 0;
}

void policy_looked(bool got)
{
	note(&thread_this.looks, got, MOST_MISSES);
}

bool policy_gives_way(void)
{
	return is_due(&thread_this.gives);
}

void policy_gave_way(bool soon)
{
	struct watch *e = &thread_this.gives;

	set_misses(e, soon ? e->misses - (e->misses > 0) : AWAY_MISSES);
}

int64_t policy_look(void)
{
	return policy()->look_us * NS_PER_US;
}

int64_t policy_longest_absence(void)
{
	return (LONGEST_ABSENCE_US + ABSENCE_EACH_US * waiters_alive()) *
	       NS_PER_US;
}

static unsigned int watch_index(const struct cond *c)
{
	return (uintptr_t)c / sizeof(*c) % WAITER_WATCHES;
}

/* Are there more threads that wait now and then than CPUs, or than two? */
static bool crowded(void)
{
	uint32_t nr = policy()->cpus;

	return waiters_alive() > (nr < 2 ? 2 : nr);
}

void policy_watch_anew(struct waiter *w)
{
	const struct watch zero = { 0 };
	struct watch anew = zero;

	if (crowded())
		set_misses(&anew, MOST_MISSES_CROWDED);
	for (int i = 0; i < WAITER_WATCHES; i++) {
		w->watches[i] = anew;
		w->given[i] = zero;
	}
}

int64_t policy_watch(struct waiter *w, const struct cond *c, bool alone)
{
	unsigned int i = watch_index(c);

	if (thread_this.herd && alone && policy()->await_us &&
	    is_due(&thread_this.awaits))
		return WATCH_HERD;
	if (policy()->watch_us &&
	    (thread_this.invited || is_due(&w->watches[i]))) {
		thread_this.invited = false;
		return policy()->watch_us * NS_PER_US;
	}
	if (policy()->watch_once && alone &&
	    (!policy()->watch_us || crowded()) && is_due(&w->given[i]))
		return WATCH_ONCE;
	return 0;
}

void policy_watched(struct waiter *w, const struct cond *c, int64_t watch,
		    int64_t ns)
{
	unsigned int i = watch_index(c);

	if (watch == WATCH_HERD)
		note(&thread_this.awaits, ns == 0, MOST_MISSES_AWAIT);
	else if (watch == WATCH_ONCE)
		note(&w->given[i], ns == 0, MOST_MISSES);
	else if (crowded())
		note(&w->watches[i], ns <= SOON_CROWDED_US * NS_PER_US,
		     MOST_MISSES_CROWDED);
	else
		note(&w->watches[i], ns <= SOON_US * NS_PER_US, MOST_MISSES);
}

/*
 * Whoever is not called before all the others had their turns is away for as long
 * as that takes: no longer than a round of those that sleep, as a rule.
 */
static int64_t longest_round_us(const struct cond *c)
{
	int64_t longest = policy_longest_absence() / NS_PER_US;
	int64_t round = c->round_us + c->round_us / ROUND_SHARE;

	longest = longest > round ? longest : round;
	return longest < UINT16_MAX ? longest : UINT16_MAX;
}

/* Short ones count: in others something else may have had the CPU. */
static void note_round(struct cond *c, int64_t ns)
{
	int64_t us = ns < UINT16_MAX * NS_PER_US ? ns / NS_PER_US : UINT16_MAX;

	if (!c->round_us || us < c->round_us)
		c->round_us = us;
	else
		c->round_us += (us - c->round_us) / ROUND_LONGER;
}

void policy_begins(const struct cond *c, struct group *g)
{
	if (policy_stays(c))
		store_relaxed(&g->stays, longest_round_us(c));
	else if (c->herds && policy()->stay == HOPE_LEARNED)
		g->began = clock_now();
}

bool policy_stays(const struct cond *c)
{
	if (policy()->stay != HOPE_LEARNED)
		return policy()->stay == HOPE_ALWAYS;
	return c->herds == STAY_AFTER && !c->stays.skip;
}

int policy_stays_for(void)
{
	return STAY_TIMES;
}

enum herd_state policy_stayed(struct cond *c, struct group *g, uint32_t nr)
{
	bool tried = load_relaxed(&g->stays);
	bool stayed = tried && load_relaxed(&g->slept) < nr / STAY_SHARE;

	if (tried)
		note(&c->stays, stayed, MOST_MISSES_STAY);
	else if (c->stays.skip)
		c->stays.skip--;
	if (g->began)
		note_round(c, clock_now() - g->began);
	if (c->herds < STAY_AFTER)
		c->herds++;
	if (!policy_stays(c))
		return HERD_SLEEPS;
	return stayed		   ? HERD_AWAKE :
	       policy()->cpus == 1 ? HERD_GATHERS :
				     HERD_SLEEPS;
}

int64_t policy_await(void)
{
	return policy()->await_us * NS_PER_US;
}

int64_t policy_alone(int64_t ns)
{
	const int64_t most = SOON_CROWDED_US * NS_PER_US;

	return ns < most ? ns : most;
}

bool policy_relays(void)
{
	return waiters_alive() > policy()->relay_over;
}

bool policy_relay_waits(uint32_t nr)
{
	return nr <= MOST_TO_WAIT;
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
	int held = load_relaxed(&e->held) + weight;
	int certain = load_relaxed(&e->certain);

	if (held > 0 && weight > 0 && certain < MOST_CERTAIN)
		certain++;
	if (held < LEAST_HELD)
		certain = 0;
	store_relaxed(&e->certain, certain);
	store_relaxed(&e->held, held > MOST_HELD  ? MOST_HELD :
				held < LEAST_HELD ? LEAST_HELD :
						    held);
}

bool policy_knows(const struct cond *c, enum lesson lesson, bool found_held)
{
	const struct evidence *e = lesson == LESSON_HERD ? &c->herd :
							   &c->single;

	return !found_held && load_relaxed(&e->held) == LEAST_HELD &&
	       !load_relaxed(&e->certain);
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
	struct wake_plan early = PLAN_WAKE_ALL;
	struct wake_plan move = { .nr_wake = 0, .move = true };

	if (holder != MUTEX_HELD_BY_CALLER)
		return PLAN_WAKE_ALL;
	early.lesson = LESSON_SINGLE;
	return hopeful ? early : move;
}

static bool may_move(bool movable)
{
	return movable && policy_may_move() && !policy_requeue_is_refused();
}

/* How many of so many are awake at once. */
static unsigned int awake_of(uint32_t nr_waiters)
{
	uint32_t nr = policy()->awake;

	if (nr)
		return nr;
	nr = nr_waiters / AWAKE_SHARE;
	return nr < AWAKE ? AWAKE : nr > MOST_AWAKE ? MOST_AWAKE : nr;
}

static struct wake_plan plan_herd(enum mutex_holder holder, uint32_t nr_waiters,
				  bool hopeful)
{
	struct wake_plan wake_herd = PLAN_WAKE_ALL;
	struct wake_plan wake_one = { .nr_wake = 1, .move = true };
	struct wake_plan move_all = { .nr_wake = 0, .move = true };

	if (hopeful && policy()->awake != 1) {
		wake_herd.lesson = LESSON_HERD;
		wake_one.lesson = LESSON_HERD;
		wake_one.ahead = awake_of(nr_waiters) - 1;
		move_all.lesson = LESSON_HERD;
		move_all.ahead = wake_one.ahead;
	}
	if (holder == MUTEX_HELD_BY_CALLER)
		return move_all;
	return holder == MUTEX_FREE && policy()->base == BASE_AUTO ? wake_herd :
								     wake_one;
}

struct wake_plan policy_gather(enum mutex_holder holder, bool movable)
{
	struct wake_plan gather = { .nr_wake = holder != MUTEX_HELD_BY_CALLER,
				    .move = true,
				    .ahead = AHEAD_ALL };

	return may_move(movable) ? gather : PLAN_WAKE_ALL;
}

struct wake_plan policy_plan(enum mutex_holder holder, bool movable,
			     uint32_t nr_waiters, bool hopeful)
{
	if (!may_move(movable))
		return PLAN_WAKE_ALL;
	return nr_waiters == 1 ? plan_single(holder, hopeful) :
				 plan_herd(holder, nr_waiters, hopeful);
}
