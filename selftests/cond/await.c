// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits with a predicate: a signal goes to the first waiter whose predicate is
 * true, a broadcast goes to all such waiters, and the others do not wake. A
 * waiter that comes back and cannot use its signal hands the signal on.
 */
#include <drover/cond.h>

#include "blocked.h"
#include "run.h"

#define MOST	 100
#define PI_FUTEX (DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST)

static drover_cond_t cond;
static drover_mutex_t mutex;
/*
 * A bit for each thing to wait for: [mutex]. It is atomic because one test
 * waits with another mutex.
 */
static _Atomic uint64_t is_open;
static atomic_int nr_back;

static struct waiter {
	pthread_t thread;
	atomic_int tid;
	int wants;  /* the number of a bit; -1: waits without a predicate */
	bool takes; /* it clears the bit when it has returned */
	const struct timespec *deadline;
	int result;
	int nr_own; /* how often it evaluated its predicate itself */
	int place;  /* 1: it was the first waiter to return, 2: the second... */
} waiters[MOST];
static int nr_waiters;
static _Thread_local struct waiter *own; /* the calling thread's */

static bool is_true(void *arg)
{
	struct waiter *w = arg;

	w->nr_own += own == w;
	return is_open >> w->wants & 1;
}

static void lock(void)
{
	tap_must(drover_mutex_lock(&mutex), "lock");
}

static void unlock(void)
{
	tap_must(drover_mutex_unlock(&mutex), "unlock");
}

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	lock();
	w->tid = gettid();
	own = w;
	if (w->wants < 0)
		w->result = drover_cond_wait(&cond, &mutex);
	else if (w->deadline)
		w->result = drover_cond_await_until(&cond, &mutex, is_true, w,
						    CLOCK_MONOTONIC,
						    w->deadline);
	else
		w->result = drover_cond_await(&cond, &mutex, is_true, w);
	w->place = nr_back + 1;
	nr_back = w->place; /* last: a thread that sees it reads the rest */
	if (w->takes)
		is_open &= ~(UINT64_C(1) << w->wants);
	unlock();
	return NULL;
}

/* When this returns, the waiter sleeps. */
static struct waiter *waits_for(int wants)
{
	struct waiter *w = &waiters[nr_waiters++];

	*w = (struct waiter){ .wants = wants, .result = -1 };
	w->thread = thread_of(waiter_main, w);
	asleep_on(&w->tid, NULL);
	return w;
}

static struct waiter *takes(int wants)
{
	struct waiter *w = &waiters[nr_waiters++];

	*w = (struct waiter){ .wants = wants, .takes = true, .result = -1 };
	w->thread = thread_of(waiter_main, w);
	asleep_on(&w->tid, NULL);
	return w;
}

enum {
	SIGNAL,
	BROADCAST
};

/* Set @bits, and tell the waiters, with the mutex held or not. */
static void opens(uint64_t bits, int call, bool held)
{
	lock();
	is_open |= bits;
	if (!held)
		unlock();
	tap_must(call == SIGNAL ? drover_cond_signal(&cond) :
				  drover_cond_broadcast(&cond),
		 "signal");
	if (held)
		unlock();
}

/* Set all bits. Return: have all waiters returned 0? */
static bool all_end(void)
{
	bool ok = true;

	opens(~UINT64_C(0), BROADCAST, true);
	for (int i = 0; i < nr_waiters; i++) {
		joined(waiters[i].thread);
		ok &= waiters[i].result == 0;
	}
	nr_waiters = 0;
	nr_back = 0;
	is_open = 0;
	return ok;
}

/* ---- each test runs with the mutex held by the caller, and without ---- */

static bool signal_finds_the_true_one(bool held)
{
	struct waiter *first = waits_for(1), *second = waits_for(2);
	struct waiter *third = waits_for(2);
	bool ok;

	opens(1 << 2, SIGNAL, held);
	reached(&nr_back, 1);
	asleep(third->tid);
	/* Without the mutex, the first one woke to evaluate for the others. */
	ok = second->place == 1 && second->nr_own == 2 &&
	     first->nr_own == (held ? 1 : 2) && third->nr_own == 1;
	return all_end() && ok;
}

static bool broadcast_finds_all(bool held)
{
	struct waiter *w[6];
	int nr_own = 0;
	bool ok = true;

	for (int i = 0; i < 6; i++)
		w[i] = waits_for(i % 2);
	opens(1 << 1, BROADCAST, held);
	reached(&nr_back, 3);
	for (int i = 0; i < 6; i++) {
		ok &= i % 2 ? w[i]->result == 0 : w[i]->result == -1;
		nr_own += w[i]->nr_own;
	}
	return all_end() && ok && (!held || nr_own == 6 + 3);
}

/* A signal that no predicate can use is for a waiter without one. */
static bool plain_one_gets_the_rest(bool held)
{
	struct waiter *plain = waits_for(-1), *other = waits_for(1);
	bool ok;

	opens(0, SIGNAL, held);
	reached(&nr_back, 1);
	ok = plain->result == 0 && other->result == -1;
	return all_end() && ok;
}

static bool many_are_found(bool held)
{
	struct waiter *last;
	bool ok;

	for (int i = 0; i < MOST - 2; i++)
		waits_for(1);
	last = waits_for(2);
	opens(1 << 2, SIGNAL, held);
	reached(&nr_back, 1);
	ok = last->place == 1;
	last = waits_for(3);
	opens(1 << 3, BROADCAST, held);
	reached(&nr_back, 2);
	ok &= last->place == 2;
	return all_end() && ok;
}

/* The predicate is false again when the waiter has the mutex: it waits on. */
static bool moved_one_stays(bool held)
{
	struct waiter *w = waits_for(1), *other = waits_for(2);
	bool ok;

	lock();
	is_open = 1 << 1;
	tap_must(drover_cond_signal(&cond), "signal");
	/* The other predicate becomes true instead, and no signal says so. */
	is_open = 1 << 2;
	unlock();
	reached(&nr_back, 1);
	ok = other->place == 1;
	asleep(w->tid);
	ok &= w->result == -1;
	opens(1 << 1, SIGNAL, held);
	reached(&nr_back, 2);
	ok &= w->place == 2;
	return all_end() && ok;
}

/* Each waiter clears the bit it waited for, so one returns for each call. */
static bool each_signal_is_used(bool held)
{
	struct waiter *w[5];
	bool ok = true;

	for (int i = 0; i < 5; i++)
		w[i] = takes(1);
	for (int i = 0; i < 5; i++) {
		opens(1 << 1, i % 2 ? SIGNAL : BROADCAST, held);
		reached(&nr_back, i + 1);
		for (int j = i + 1; j < 5; j++)
			if (!w[j]->place)
				asleep(w[j]->tid);
		ok &= nr_back == i + 1;
	}
	return all_end() && ok;
}

/* ---- each test runs once ---- */

static bool true_at_once(bool held)
{
	struct waiter me = { .wants = 1 };
	struct timespec bad = { 0, NS_PER_S };
	bool ok;

	(void)held;
	is_open = 1 << 1;
	ok = drover_cond_await(&cond, &mutex, is_true, &me) == EPERM;
	lock();
	ok &= drover_cond_await(&cond, &mutex, is_true, &me) == 0 &&
	      drover_cond_await_until(&cond, &mutex, is_true, &me,
				      CLOCK_MONOTONIC, &bad) == EINVAL &&
	      drover_cond_await_until(&cond, &mutex, is_true, &me, 4711,
				      &(struct timespec){ 0 }) == EINVAL;
	unlock();
	is_open = 0;
	return ok;
}

static bool times_out(bool held)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	struct waiter me = { .wants = 1 };
	bool ok;

	(void)held;
	lock();
	ok = drover_cond_await_until(&cond, &mutex, is_true, &me,
				     CLOCK_MONOTONIC, &past) == ETIMEDOUT &&
	     drover_cond_await_until(&cond, &mutex, is_true, &me,
				     CLOCK_MONOTONIC, &soon) == ETIMEDOUT &&
	     deadline_passed(CLOCK_MONOTONIC, &soon);
	is_open = 1 << 1;
	ok &= drover_cond_await_until(&cond, &mutex, is_true, &me,
				      CLOCK_MONOTONIC, &past) == 0;
	is_open = 0;
	unlock();
	return ok;
}

/*
 * The predicate becomes true without a signal. The waiter finds that at its
 * deadline, and returns 0.
 */
static bool true_at_its_end(bool held)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 20 * NS_PER_MS);
	struct waiter *w = &waiters[nr_waiters++];

	(void)held;
	*w = (struct waiter){ .wants = 1, .deadline = &soon, .result = -1 };
	w->thread = thread_of(waiter_main, w);
	reached(&w->tid, 1);
	lock();
	is_open = 1 << 1;
	unlock();
	reached(&nr_back, 1);
	return all_end();
}

static void exit_here(int signal)
{
	(void)signal;
	pthread_exit(NULL);
}

static void free_mutex(void *arg)
{
	(void)arg;
	nr_back++;
	unlock();
}

static void *victim_main(void *arg)
{
	struct waiter *w = arg;

	lock();
	w->tid = gettid();
	pthread_cleanup_push(free_mutex, NULL);
	drover_cond_await(&cond, &mutex, is_true, w);
	pthread_cleanup_pop(1);
	return NULL;
}

/* A thread that ends in its wait hands on the signal that it has got. */
static bool ends_in_a_handler(bool held)
{
	struct waiter victim = { .wants = 1 }, *other;
	bool ok;

	(void)held;
	signal(SIGUSR1, exit_here);
	victim.thread = thread_of(victim_main, &victim);
	asleep_on(&victim.tid, NULL);
	other = waits_for(1);
	lock();
	is_open = 1 << 1;
	tap_must(drover_cond_signal(&cond), "signal");
	pthread_kill(victim.thread, SIGUSR1);
	unlock();
	joined(victim.thread);
	/* If it returned before it was killed, it has used the signal. */
	if (victim.nr_own == 0)
		reached(&nr_back, 2);
	ok = other->result == (victim.nr_own ? -1 : 0);
	return all_end() && ok;
}

/* With the mutex held, the condvar is destroyed before its waiters return. */
static bool destroyed_at_once(bool held)
{
	struct waiter *left;
	bool ok;

	for (int i = 0; i < 3; i++)
		waits_for(1);
	left = held ? waits_for(2) : NULL;
	opens(0, SIGNAL, true);
	lock();
	is_open = 1 << 1;
	tap_must(drover_cond_broadcast(&cond), "broadcast");
	if (!held)
		unlock();
	tap_must(drover_cond_destroy(&cond), "destroy");
	memset(&cond, 0x55, sizeof(cond));
	if (held)
		unlock();
	for (int i = 0; i < nr_waiters; i++)
		joined(waiters[i].thread);
	ok = !left || left->result == EINVAL;
	for (int i = 0; i < 3; i++)
		ok &= waiters[i].result == 0;
	nr_waiters = nr_back = is_open = 0;
	memset(&cond, 0, sizeof(cond));
	return ok;
}

static bool child_waits(void)
{
	struct waiter *w = waits_for(1);

	opens(1 << 1, SIGNAL, true);
	joined(w->thread);
	return w->result == 0;
}

/* The child's condvar has none of the parent's waiters. */
static bool forks(bool held)
{
	bool ok;

	(void)held;
	waits_for(2);
	ok = child_does(child_waits, "the child");
	return all_end() && ok;
}

static void *with_another(void *arg)
{
	static drover_mutex_t second;
	struct waiter *w = arg;

	drover_mutex_lock(&second);
	w->tid = gettid();
	w->result = drover_cond_await(&cond, &second, is_true, w);
	drover_mutex_unlock(&second);
	return NULL;
}

/*
 * Other threads evaluate no predicate of a waiter with a second mutex: it wakes
 * and evaluates its own.
 */
static bool another_mutex(bool held)
{
	struct waiter *w = waits_for(1), other = { .wants = 2 };
	bool ok;

	other.thread = thread_of(with_another, &other);
	asleep_on(&other.tid, NULL);
	opens(1 << 2, BROADCAST, held);
	joined(other.thread);
	ok = other.result == 0 && w->result == -1;
	return all_end() && ok;
}

#define TEST(name, nr)          \
	{                       \
#name, name, nr \
	}
static const struct {
	const char *name;
	bool (*holds)(bool held);
	int nr_ways;
} tests[] = {
	TEST(signal_finds_the_true_one, 2),
	TEST(broadcast_finds_all, 2),
	TEST(plain_one_gets_the_rest, 2),
	TEST(many_are_found, 2),
	TEST(moved_one_stays, 2),
	TEST(each_signal_is_used, 2),
	TEST(another_mutex, 2),
	TEST(destroyed_at_once, 2),
	TEST(true_at_once, 1),
	TEST(times_out, 1),
	TEST(true_at_its_end, 1),
	TEST(ends_in_a_handler, 1),
	TEST(forks, 1),
};

static const struct {
	const char *name;
	uint32_t flags;
	bool shared;
} kinds[] = {
	{ "a normal mutex", 0, false },
	{ "recursive", DROVER_MUTEX_RECURSIVE, false },
	{ "PI", DROVER_MUTEX_PI, false },
	{ "robust", DROVER_MUTEX_ROBUST, false },
	{ "shared", DROVER_MUTEX_SHARED, true },
};

/*
 * All waiters of a shared condvar wake, and each evaluates its own predicate.
 */
static bool shared_condvar(void)
{
	struct waiter *w[4];
	bool ok = true;

	for (int i = 0; i < 4; i++)
		w[i] = waits_for(i % 2);
	opens(1 << 1, BROADCAST, true);
	reached(&nr_back, 2);
	for (int i = 0; i < 4; i++)
		ok &= w[i]->result == (i % 2 ? 0 : -1);
	return all_end() && ok;
}

static void test_kind(int kind, const char *policy)
{
	drover_mutexattr_t attr = { .flags = kinds[kind].flags };
	drover_condattr_t of_cond = { .flags = kinds[kind].shared ?
						       DROVER_COND_SHARED :
						       0 };

	tap_must(drover_mutex_init(&mutex, &attr), "mutex_init");
	tap_must(drover_cond_init(&cond, &of_cond), "cond_init");
	watchdog(kinds[kind].name);
	if (kinds[kind].shared) {
		tap_ok(shared_condvar(), "a shared condvar");
		return;
	}
	for (int i = 0; i < NR_OF(tests); i++) {
		bool ends = !strcmp(tests[i].name, "ends_in_a_handler");

		if (!strcmp(tests[i].name, "forks") &&
		    !CHILDREN_MAY_HAVE_THREADS) {
			tap_skip(tests[i].name, FORK_THREADS_SKIP);
			continue;
		}
		/* A woken victim is soon past its wait; a moved one is not. */
		if (ends &&
		    (strcmp(policy, "requeue") || !policy_moves(policy)))
			continue;
		if (ends && (!FRAMES_MAY_UNWIND || !HANDLERS_ARE_PROMPT ||
			     kinds[kind].flags & PI_FUTEX)) {
			tap_skip(tests[i].name,
				 "no unwinding here, or a PI futex");
			continue;
		}
		for (int way = 0; way < tests[i].nr_ways; way++)
			tap_ok(tests[i].holds(!way), "%s, %s%s", tests[i].name,
			       kinds[kind].name,
			       way ? ", called without the mutex" : "");
	}
}

static void test(const char *policy)
{
	for (int kind = 0; kind < NR_OF(kinds); kind++)
		test_kind(kind, policy);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "auto", "requeue" };

	(void)argc;
	return policies_main(argv, names, NR_OF(names), test);
}
