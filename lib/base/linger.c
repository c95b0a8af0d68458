// SPDX-License-Identifier: MIT
/* How long a thread polls before it sleeps, and what that is worth. */
#include <sched.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/linger.h"

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
#define COST_LEAST    (1 * NS_PER_US)
#define COST_MOST     (50 * NS_PER_US)
#define SAMPLE_EVERY  32

/* Of what a sleep costs, one part in so many may be spent in vain. */
#define IN_VAIN 50
/* So many polls may be saved up; an account begins with them. */
#define SAVED 8

/**
 * struct measured - what sleeping costs in this process, in nanoseconds
 * @latency: from the call that wakes a thread until it runs
 * @sleep: CPU time of a sleep
 * @wake: of the call that ends it
 * @limit: fixed length of a poll, or LIMIT_MEASURED
 * @cpus: CPUs that the process may use
 */
static struct {
	_Atomic int32_t latency;
	_Atomic int32_t sleep;
	_Atomic int32_t wake;
	_Atomic int64_t limit;
	_Atomic uint32_t cpus;
} measured = {
	.latency = 20 * NS_PER_US,
	.sleep = 3 * NS_PER_US,
	.wake = 2 * NS_PER_US,
	.limit = -1,
	.cpus = 1,
};

#define LIMIT_MEASURED (-1)

/* A wake-up that is being timed: of a sleeper on @word, called at @at. */
static struct {
	_Atomic(futex_word *) word;
	_Atomic int64_t at;
} timed;

static _Thread_local uint32_t nr_sleeps, nr_wakes;

/* Files are read, so not in the middle of a wait. */
__attribute__((constructor)) static void linger_start(void)
{
	store_relaxed(&measured.cpus, cpus_usable());
}

void linger_limit(uint32_t us)
{
	store_relaxed(&measured.limit, us * NS_PER_US);
}

static int64_t clamp(int64_t ns, int64_t least, int64_t most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/* How long a poll lasts at most. */
static int64_t poll_ns(void)
{
	int64_t limit = load_relaxed(&measured.limit);

	return limit != LIMIT_MEASURED ? limit :
					 load_relaxed(&measured.latency);
}

/* What a sleep and its wake-up cost. */
static int64_t cost_ns(void)
{
	return clamp(load_relaxed(&measured.sleep) +
			     load_relaxed(&measured.wake),
		     COST_LEAST, COST_MOST);
}

/* Towards @ns by one part in eight: others' samples may get lost. */
static void note(_Atomic int32_t *value, int64_t ns, int64_t least,
		 int64_t most)
{
	int64_t old = load_relaxed(value);

	store_relaxed(value, old + (clamp(ns, least, most) - old) / 8);
}

static void pay(struct account *a, int64_t ns)
{
	a->balance = clamp(a->balance + ns, -poll_ns(), SAVED * poll_ns());
}

bool linger_may(struct account *a)
{
	if (!poll_ns())
		return false;
	if (!a->begun) {
		a->begun = true;
		a->balance = SAVED * poll_ns();
	}
	return a->balance > 0;
}

bool linger_has_cpu(void)
{
	return load_relaxed(&measured.cpus) > 1;
}

/* May others run now? Not at the will of a thread of a real-time policy. */
static bool may_yield(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_OTHER || policy == SCHED_BATCH ||
	       policy == SCHED_IDLE;
}

typedef enum polled (*poll_fn)(void *arg);

/* Until @end, or @poll says something; @now: then. */
static enum polled poll_until(poll_fn poll, void *arg, int64_t *now,
			      int64_t end)
{
	enum polled found;

	do {
		for (int i = 0; i < POLLS_PER_CLOCK; i++) {
			found = poll(arg);
			if (found != POLL_NOTHING)
				return found;
			cpu_relax();
		}
		*now = clock_now();
	} while (*now < end);
	return POLL_NOTHING;
}

/**
 * struct polling - a thread polls
 * @poll, @arg: looks whether it has come
 * @begin: when it began; what others did meanwhile is left out
 * @now: the last look at the clock
 * @end: until when; what others did meanwhile is added
 * @last: the caller's deadline, or INT64_MAX
 * @least: a yield that took longer has let others run
 */
struct polling {
	poll_fn poll;
	void *arg;
	int64_t begin, now, end, last, least;
};

static bool is_over(const struct polling *p)
{
	return p->now >= p->end || p->now >= p->last;
}

/* Let others run. Return: how long they did; to find nobody takes less. */
static int64_t let_others_run(struct polling *p)
{
	int64_t before = p->now;

	sched_yield();
	p->now = clock_now();
	before = p->now - before;
	return before > p->least ? before : 0;
}

/*
 * Poll, and let others run in between, until one did or it is @end. What others
 * did is not ours to pay, but for the switch: it is taken out of @begin. Once
 * they want the CPU nobody polls for longer than a wake-up takes.
 */
static enum polled poll_politely(struct account *a, struct polling *p)
{
	enum polled found = POLL_NOTHING;
	bool alone = linger_has_cpu();
	int64_t away;

	while (found == POLL_NOTHING && !is_over(p)) {
		if (alone && !a->crowded)
			found = poll_until(p->poll, p->arg, &p->now,
					   clamp(p->now + SLICE_NS, 0, p->end));
		if (found != POLL_NOTHING || is_over(p) || !may_yield())
			break;
		away = let_others_run(p);
		a->crowded = away;
		if (away)
			away -= load_relaxed(&measured.sleep);
		p->begin += away;
		p->end += away;
		if (a->crowded)
			p->end = clamp(p->end, 0, p->now + poll_ns());
		found = p->poll(p->arg);
		if (!alone)
			break;
	}
	return found;
}

bool linger(struct account *a, poll_fn poll, void *arg, int64_t left)
{
	enum polled found = poll(arg);
	struct polling p = { .poll = poll, .arg = arg };

	if (found != POLL_NOTHING || !linger_may(a))
		return found == POLL_CAME;
	p.least = load_relaxed(&measured.sleep);
	p.now = p.begin = clock_now();
	p.end = p.begin + clamp(poll_ns(), 0, left);
	p.last = left < INT64_MAX ? p.begin + left : INT64_MAX;
	found = poll_politely(a, &p);
	pay(a, (found == POLL_CAME ? cost_ns() : 0) - (p.now - p.begin));
	return PROBE_SPIN(found == POLL_CAME);
}

bool linger_for(struct account *a, poll_fn poll, void *arg, int64_t ns)
{
	struct polling p = { .poll = poll, .arg = arg, .last = INT64_MAX };

	if (!poll_ns())
		return false;
	/* Those who meet here run for a moment each. */
	p.least = load_relaxed(&measured.sleep) / 4;
	p.now = p.begin = clock_now();
	p.end = p.begin + ns;
	return poll_politely(a, &p) == POLL_CAME;
}

/* ---- what sleeping costs ---- */

static int64_t cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool sample(uint32_t *nr)
{
	return (*nr)++ % SAMPLE_EVERY == 0;
}

/* The caller slept on @word, and was woken. */
static void note_latency(const futex_word *word)
{
	int64_t at;

	/* Pairs with the release in sleep_end(): the time is this word's. */
	if (load_acquire(&timed.word) != word)
		return;
	at = load_relaxed(&timed.at);
	store_relaxed(&timed.word, NULL);
	note(&measured.latency, clock_now() - at, LATENCY_LEAST, LATENCY_MOST);
}

long sleep_on(futex_word *word, uint32_t val, const struct deadline *deadline,
	      bool shared, uint32_t bits, struct account *a)
{
	bool sampled = sample(&nr_sleeps);
	int64_t begin = sampled ? cpu_time() : 0;
	long ret = futex_wait_bits(word, val, deadline, shared, bits);

	if (ret == 0) {
		note_latency(word);
		pay(a, cost_ns() / IN_VAIN);
		if (sampled)
			note(&measured.sleep, cpu_time() - begin, 0, COST_MOST);
	}
	return ret;
}

long sleep_end(futex_word *word, int nr_wake, bool shared)
{
	int64_t begin;
	long ret;

	if (!sample(&nr_wakes))
		return futex_wake(word, nr_wake, shared);
	begin = clock_now();
	store_relaxed(&timed.word, NULL);
	store_relaxed(&timed.at, begin);
	store_release(&timed.word, word);
	ret = futex_wake(word, nr_wake, shared);
	if (ret > 0)
		note(&measured.wake, (clock_now() - begin) / ret, 0, COST_MOST);
	else
		store_relaxed(&timed.word, NULL);
	return ret;
}

int64_t time_left(const struct deadline *deadline)
{
	struct timespec now;

	if (!deadline)
		return INT64_MAX;
	clock_gettime(deadline->clock, &now);
	/* No poll is longer than a second. */
	if (deadline->at.tv_sec - now.tv_sec > 1)
		return INT64_MAX;
	if (deadline->at.tv_sec < now.tv_sec)
		return 0;
	return (deadline->at.tv_sec - now.tv_sec) * NS_PER_S +
	       deadline->at.tv_nsec - now.tv_nsec;
}
