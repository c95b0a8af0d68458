// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel may do to its caller at any moment, done at the worst one: a
 * wait ends for no reason, or by its deadline when a signal has just been sent;
 * requeue-PI is told to try again, or is refused; a waker goes on only when all that it woke
 * have settled, and a waiter, when the signal after its unlock is over.
 */
#include "blocked.h"
#include "futex_call.h"
#include "fixture.h"
#include "run.h"
#include "tap.h"

static api_cond_t cond;
static api_mutex_t mutex;

/* The first wait of each thread, for a mutex aside, has this answer, at last. */
static atomic_bool has_door;
static int door_error; /* 0: woken */
static atomic_int nr_at_door;
static atomic_bool is_open;
static _Thread_local bool went_through;

static atomic_bool unlocks_late; /* of all threads but the first */
static atomic_int nr_unlocked;
static _Thread_local bool is_first;
static _Thread_local bool pi_again; /* once */
static atomic_bool pi_refused;
static _Thread_local struct fixture *settling;

static long failed(int error)
{
	errno = error;
	return -1;
}

static long answer_at_door(void)
{
	went_through = true;
	atomic_fetch_add(&nr_at_door, 1);
	while (!atomic_load(&is_open))
		sched_yield();
	return door_error ? failed(door_error) : 0;
}

static void settle(void)
{
	int64_t deadline = blocked_deadline();

	while (fixture_any_awake(settling)) {
		if (blocked_over(deadline))
			tap_bail("a waiter neither returns nor sleeps");
		sched_yield();
	}
}

static void after_call(int command, const void *word)
{
	if (settling && (command == FUTEX_WAKE || command == FUTEX_CMP_REQUEUE))
		settle();
	if (is_first || command != FUTEX_WAKE || !api_mutex_has(&mutex, word))
		return;
	atomic_fetch_add(&nr_unlocked, 1);
	while (atomic_load(&unlocks_late))
		sched_yield();
}

/* What the library calls. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	int error, command = op & FUTEX_CMD_MASK;
	long ret;

	if (command == FUTEX_WAIT_BITSET && atomic_load(&has_door) &&
	    !went_through && !api_mutex_has(&mutex, word))
		return answer_at_door();
	if (command == FUTEX_WAIT_REQUEUE_PI && atomic_load(&pi_refused))
		return failed(EPERM);
	if (command == FUTEX_CMP_REQUEUE_PI && pi_again) {
		pi_again = false;
		return failed(EAGAIN);
	}
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	error = errno;
	after_call(command, word);
	errno = error;
	return ret;
}

static void begin(const char *what, const char *kind_name, bool shared)
{
	watchdog(what);
	atomic_store(&nr_at_door, 0);
	atomic_store(&is_open, false);
	if (kind_cond_init(&cond, shared) ||
	    kind_mutex_init(&mutex, kind_named(kind_name), shared))
		tap_bail("init");
}

/* Waiters held in front of their calls; the answer comes behind that. */
static void start_at_door(struct fixture *fixture, int nr, int error,
			  const struct member *how)
{
	atomic_store(&has_door, true);
	door_error = error;
	for (int i = 0; i < nr; i++)
		fixture_start(fixture, how);
	if (wait_at_least(&nr_at_door, nr))
		tap_bail("the waiters do not come to sleep");
	atomic_store(&has_door, false);
}

/* A wait whose time is over when others have hardly begun. */
static struct member shortly(struct timespec *deadline)
{
	*deadline = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	return (struct member){
		.deadline = deadline,
		.clock = CLOCK_MONOTONIC,
	};
}

static void open_door(void)
{
	atomic_store(&is_open, true);
}

static void test_spurious(int error, bool shared)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	begin("spurious", "normal", shared);
	start_at_door(&fixture, 1, error, NULL);
	open_door();
	tap_is(fixture_count(&fixture, RETURNED), 0,
	       "the kernel answers \"%s\" for no reason%s: it waits on",
	       strerror(error), shared ? ", shared" : "");
	kind_fixture_end(&fixture);
}

/* Of two, either may have it. */
static void test_too_late(bool shared)
{
	struct timespec deadline;
	struct member how = shortly(&deadline);
	struct fixture fixture = fixture_of(&cond, &mutex, 2);

	begin("a signal and a deadline", "normal", shared);
	start_at_door(&fixture, 2, ETIMEDOUT, &how);
	while (!deadline_passed(CLOCK_MONOTONIC, &deadline))
		sched_yield();
	api_cond_signal(&cond);
	open_door();
	fixture_gone(&fixture, 2);
	tap_is(fixture_results(&fixture, 0), 1,
	       "the deadline, when a signal was sent%s: one has the signal",
	       shared ? ", shared" : "");
	kind_fixture_end(&fixture);
}

/* Who has left, or was signalled and does not know yet, takes no other one. */
static void test_used_up(bool shared)
{
	struct timespec deadline;
	struct member how = shortly(&deadline);
	struct fixture fixture = fixture_of(&cond, &mutex, 4);

	begin("elders that are used up", "normal", shared);
	start_at_door(&fixture, 2, EAGAIN, NULL);
	fixture_start(&fixture, &how);
	fixture_gone(&fixture, 1);
	api_cond_signal(&cond);
	fixture_wait(&fixture);
	api_cond_signal(&cond);
	api_cond_signal(&cond);
	open_door();
	fixture_count(&fixture, RETURNED);
	tap_is(fixture_results(&fixture, 0), 3,
	       "one has timed out, two are late%s: all signals arrive",
	       shared ? ", shared" : "");
	kind_fixture_end(&fixture);
}

static void test_pi_again(bool all)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	begin("requeue-PI, again", "PI", false);
	fixture_add(&fixture, 3);
	pi_again = true;
	if (all)
		kind_broadcast(&cond, &mutex);
	else
		api_cond_signal(&cond);
	pi_again = false;
	fixture_count(&fixture, RETURNED);
	tap_is(fixture_results(&fixture, 0), all ? 3 : 1,
	       "requeue-PI answers EAGAIN once: a %s returns %s",
	       all ? "broadcast" : "signal", all ? "all" : "one");
	kind_fixture_end(&fixture);
}

/* A sleep that is no requeue-PI ends for no reason: it does not have the mutex. */
static void test_pi_refused(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);

	begin("requeue-PI is refused", "PI", false);
	atomic_store(&pi_refused, true);
	start_at_door(&fixture, 1, 0, NULL);
	api_mutex_lock(&mutex);
	open_door();
	fixture_count(&fixture, RETURNED);
	tap_is(api_mutex_unlock(&mutex), 0,
	       "requeue-PI is refused, and a wait ends for no reason: the holder has the mutex");
	kind_fixture_end(&fixture);
	atomic_store(&pi_refused, false);
}

/*
 * A signal to one of several, and a broadcast to the rest and two that came.
 * Wakers of a shared condvar keep its lock, which the woken need.
 */
static void test_settled(bool shared)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 5);
	const char *how = shared ? ", shared" : ", late behind each call";

	begin("a waker that is late", "normal", shared);
	fixture_add(&fixture, 3);
	settling = shared ? NULL : &fixture;
	api_cond_signal(&cond);
	tap_is(fixture_count(&fixture, RETURNED), 1, "a signal%s: one returns",
	       how);
	fixture_add(&fixture, 2);
	kind_broadcast(&cond, &mutex);
	settling = NULL;
	tap_is(fixture_count(&fixture, RETURNED), 5,
	       "a broadcast to old and young%s: all return", how);
	kind_fixture_end(&fixture);
}

/* It has slept on the mutex, so in its wait the unlock is a call. */
static void test_unlocks_late(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 1);
	struct member *waiter;

	begin("a signal behind the unlock", "normal", false);
	atomic_store(&nr_unlocked, 0);
	api_mutex_lock(&mutex);
	waiter = fixture_start(&fixture, NULL);
	while (member_place(waiter) != AT_MUTEX)
		sched_yield();
	atomic_store(&unlocks_late, true);
	api_mutex_unlock(&mutex);
	if (wait_at_least(&nr_unlocked, 1))
		tap_bail("the waiter does not unlock");
	api_cond_signal(&cond);
	atomic_store(&unlocks_late, false);
	tap_is(fixture_count(&fixture, RETURNED), 1,
	       "a signal just behind the waiter's unlock: it returns");
	kind_fixture_end(&fixture);
}

static void test(const char *policy)
{
	const int answers[] = { 0, EINTR, EAGAIN };

	(void)policy;
	is_first = true;
	for (int shared = 0; shared < 2; shared++) {
		for (int i = 0; i < 3; i++)
			test_spurious(answers[i], shared);
		test_too_late(shared);
		test_used_up(shared);
		test_settled(shared);
	}
	test_pi_again(false);
	test_pi_again(true);
	test_unlocks_late();
	/* The library remembers that. */
	test_pi_refused();
}

int main(int argc, char **argv)
{
	(void)argc;
	return policy_main(argv, 18, test);
}
