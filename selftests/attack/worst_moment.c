// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel and the scheduler do what they may do at any time, and here they
 * do it at the worst moment: threads are signalled or cancelled just before
 * their sleep, a signaller is stopped before the call that moves, a wait ends
 * for no reason or by its deadline when a signal has been sent, requeue-PI is
 * refused, and wakers and waiters are late.
 *
 * APIs: drover pthread
 */
#include "../cond/steps.h"
#include "futex_call.h"
#if API_IS_PTHREAD
#include "../cond/victim.h"
#endif

#define GO_ON (-1)

/*
 * A thread stops at a door: before its first wait on a futex other than the
 * mutex.
 */
static atomic_bool has_door;
static int door_answer; /* an errno value, or GO_ON: ask the kernel */
/* There may be several doors in turn. All except the last answer EAGAIN. */
static atomic_int nr_doors, nr_at_door, nr_open;
static _Thread_local int nr_passed;

static atomic_bool is_late; /* a woken thread does not return from its wait */
static _Thread_local void (*before_requeue)(void); /* called once */
static _Thread_local bool pi_again;		   /* answer EAGAIN once */
static atomic_bool pi_is_refused;
static _Thread_local bool settles;

static long failed(int error)
{
	errno = error;
	return -1;
}

static void stop_at_door(void)
{
	nr_passed++;
	nr_at_door++;
	while (nr_open < nr_passed)
		sched_yield();
}

static void after_call(int command, const void *word)
{
	bool of_mutex = api_mutex_has(&mutex, word);

	while (command == FUTEX_WAIT_BITSET && !of_mutex && is_late)
		sched_yield();
	if (settles && (command == FUTEX_WAKE || command == FUTEX_CMP_REQUEUE))
		wait_until(!fixture_any_awake(&fixture), "a waiter is awake");
}

/* The library calls this function. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	int error, command = op & FUTEX_CMD_MASK;
	void (*before)(void) = NULL;
	long ret;

	if (command == FUTEX_WAIT_BITSET && has_door && nr_passed < nr_doors &&
	    !api_mutex_has(&mutex, word)) {
		stop_at_door();
		if (nr_passed < nr_doors)
			return failed(EAGAIN);
		if (door_answer != GO_ON)
			return door_answer ? failed(door_answer) : 0;
	}
	if (command == FUTEX_WAIT_REQUEUE_PI && pi_is_refused)
		return failed(EPERM);
	if (command == FUTEX_CMP_REQUEUE_PI && pi_again) {
		pi_again = false;
		return failed(EAGAIN);
	}
	if (command == FUTEX_CMP_REQUEUE && before_requeue) {
		before = before_requeue;
		before_requeue = NULL;
		before();
	}
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	error = errno;
	if (before)
		is_late = false;
	after_call(command, word);
	errno = error;
	return ret;
}

static void start_at_door(int nr, int answer, const struct member *how)
{
	nr_doors = 1;
	nr_at_door = 0;
	nr_open = 0;
	has_door = true;
	door_answer = answer;
	for (int i = 0; i < nr; i++)
		fixture_start(&fixture, how);
	reached(&nr_at_door, nr);
	has_door = false;
}

/* door N: N members, which are stopped before their futex calls */
STEP_DO(door, start_at_door(args[0], GO_ON, NULL));

/* doors N: the same, but each has looked again since all have joined */
STEP(doors)
{
	start_at_door(args[0], GO_ON, NULL);
	nr_doors = 2;
	has_door = true;
	nr_open = 1;
	reached(&nr_at_door, 2 * (int)args[0]);
	has_door = false;
	return 0;
}

/* answer ERROR N: N members, whose waits return ERROR, or 0, after the door */
STEP_DO(answer, start_at_door(args[1], args[0], NULL));

/* A wait with a deadline so near that it passes before others have begun. */
static struct member shortly(void)
{
	scene.deadline = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	return (struct member){ .deadline = &scene.deadline,
				.clock = CLOCK_MONOTONIC };
}

STEP(answer_timeout)
{
	struct member how = shortly();

	start_at_door(args[0], ETIMEDOUT, &how);
	return 0;
}

STEP(shortly)
{
	struct member how = shortly();

	fixture_start(&fixture, &how);
	return 0;
}

STEP_DO(open, nr_open = nr_doors);

static bool was_second;

static void *signal_second(void *arg)
{
	api_cond_signal(&cond);
	return arg;
}

/*
 * The second signal changes the group's word. The waiter that it wakes does not
 * take its token yet, because that would change the word back.
 */
static void another_signals(void)
{
	was_second = true;
	is_late = true;
	joined(thread_of(signal_second, NULL));
}

STEP(another_signals_before_it_moves)
{
	was_second = false;
	before_requeue = another_signals;
	return 0;
}

static pid_t first_tid;

static void destroyer_sleeps(void)
{
	nr_at_door = 1;
	wait_blocked(getpid(), first_tid, NULL);
}

static void *broadcast_late(void *arg)
{
	before_requeue = destroyer_sleeps;
	kind_broadcast(&cond, &mutex);
	nr_at_door = 1; /* perhaps no waiter was moved */
	return arg;
}

/*
 * The mutex's holder destroys the condvar, when another thread has unblocked
 * waiters and has yet to move them.
 */
STEP(destroy_beside_a_broadcast)
{
	pthread_t other;

	first_tid = blocked_gettid();
	nr_at_door = 0;
	start_thread(&other, broadcast_late, NULL);
	reached(&nr_at_door, 1);
	kind_cond_destroy(&cond, &mutex);
	joined(other);
	return kind_cond_init(&cond, true);
}

/* If the signal moves no waiter, there was no second signal. */
STEP(each_has_returned_one)
{
	before_requeue = NULL;
	return fixture_count(&fixture, RETURNED) == 1 + was_second;
}

STEP_DO(requeue_pi_again, pi_again = args[0]);
STEP_DO(requeue_pi_refused, pi_is_refused = args[0]);
STEP_DO(wakers_are_late, settles = args[0]);

/* These scenes run with a private and with a shared condvar. */
static const struct scene scenes[] = {
	{ "a signal before the sleep: one returns",
	  "door 2; signal; open; returned = 1" },
	/* Neither sleeps, so only the word can show them the signal. */
	{ "a signal before both sleeps: one returns",
	  "doors 2; signal; open; returned = 1" },
	{ "a broadcast before the sleep: both return",
	  "door 2; broadcast_on; open; returned = 2" },
	{ "a futex wait returns 0 for no reason: the wait goes on",
	  "answer 0; open; returned = 0" },
	{ "a futex wait returns EINTR for no reason: the wait goes on",
	  "answer EINTR; open; returned = 0" },
	{ "a futex wait returns EAGAIN for no reason: the wait goes on",
	  "answer EAGAIN; open; returned = 0" },
	/* Either of two waiters may have the signal. */
	{ "deadlines pass when a signal was sent: one has the signal",
	  "answer_timeout 2; time_passes; signal; open; gone 2; zeros = 1" },
	/*
	 * A waiter that has left takes no signal, and a waiter that was
	 * signalled and does not know it yet takes no second one.
	 */
	{ "one has timed out, two are late: all signals arrive",
	  "answer EAGAIN 2; shortly; gone 1; signal; wait; signal 2; open;"
	  "returned; zeros = 3" },
	{ "a signal, and a broadcast to older and younger waiters",
	  "wait 3; signal; returned = 1; wait 2; broadcast_on; returned = 5" },
};

static const struct scene with_shared[] = {
	{ "destroyed when another thread has yet to move its waiters",
	  "wait 3; lock; destroy_beside_a_broadcast = 0; unlock;"
	  "returned = 3" },
};

/*
 * These scenes would hang with a shared condvar: its wakers keep the lock,
 * which woken threads need.
 */
static const struct scene with_private[] = {
	{ "a signal and a broadcast, and the waker is late after each call",
	  "wait 3; wakers_are_late; signal; returned = 1; wait 2;"
	  "broadcast_on; wakers_are_late 0; returned = 5" },
	/*
	 * The signal moves one waiter, and another one, which is awake, takes
	 * the signal. It waits for the mutex behind the first waiter, which is
	 * woken there for nothing.
	 */
	{ "a signal is taken by another waiter than was moved: one returns",
	  "wait; door 1; lock; signal; open; returned; unlock; returned = 1" },
	/* Each moved waiter has to wake the next one. */
	{ "two signals by the holder: 2 return",
	  "wait 3; lock; signal 2; unlock; returned = 2" },
	{ "a broadcast by the holder: 3 return",
	  "wait 3; lock; broadcast_on; unlock; returned = 3" },
	{ "a second signal comes before the first moves: each returns one",
	  "wait 3; another_signals_before_it_moves; lock; signal; unlock;"
	  "each_has_returned_one = 1" },
};

/* The library remembers a refusal. */
static const struct scene with_pi[] = {
	{ "requeue-PI answers EAGAIN once: a signal returns one",
	  "wait 3; requeue_pi_again; signal; requeue_pi_again 0; returned;"
	  "zeros = 1" },
	{ "requeue-PI answers EAGAIN once: a broadcast returns all",
	  "wait 3; requeue_pi_again; broadcast_on; requeue_pi_again 0;"
	  "returned; zeros = 3" },
	/*
	 * The waiter's sleep is no requeue-PI, and does not give it the mutex.
	 */
	{ "requeue-PI is refused, a wait ends: the holder keeps the mutex",
	  "requeue_pi_refused; answer 0; lock; open; returned; unlock = 0;"
	  "requeue_pi_refused 0" },
};

#if API_IS_PTHREAD

static void test_cancel(const char *label)
{
	bool asleep = false;

	if (skips_cancellation("a cancellation"))
		return;
	watchdog("a cancellation");
	start_at_door(0, GO_ON, NULL);
	has_door = true;
	victim_start((struct victim){ 0 });
	reached(&nr_at_door, 1);
	has_door = false;
	pthread_cancel(victim.thread);
	nr_open = nr_doors;
	while (!victim.had_mutex && !asleep) {
		asleep = place_of(getpid(), victim.tid, &mutex) == AT_COND;
		sched_yield();
	}
	/* A victim that sleeps acts upon its cancellation when it wakes up. */
	pthread_cond_broadcast(&cond);
	tap_ok(joined(victim.thread) == PTHREAD_CANCELED && !asleep,
	       "%s: a cancellation just before the sleep acts", label);
}

#else

/* Native waits are no cancellation points. */
static void test_cancel(const char *label)
{
}

#endif

static void test(const char *policy)
{
	for (int shared = 1; shared >= 0; shared--) {
		char label[64];

		snprintf(label, sizeof(label), "%s: %s", policy,
			 shared ? "shared" : "private");
		scene_start(policy, "normal", shared);
		scenes_test(label, scenes, NR_OF(scenes));
		test_cancel(label);
		if (shared)
			scenes_test(label, with_shared, NR_OF(with_shared));
	}
	scenes_test(policy, with_private, NR_OF(with_private));
	scene_start(policy, "PI", false);
	scenes_test(policy, with_pi, NR_OF(with_pi));
}

POLICY_MAIN(test)
