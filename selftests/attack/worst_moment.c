// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel and the scheduler may do at any moment, done at the worst
 * one: threads are signalled or cancelled in front of their sleep, a signaller
 * is held in front of the call that moves, a wait ends for no reason or by its
 * deadline when a signal has been sent, requeue-PI is refused, wakers and
 * waiters are late.
 *
 * APIs: drover pthread
 */
#include "../cond/steps.h"
#include "futex_call.h"
#if API_IS_PTHREAD
#include "../cond/victim.h"
#endif

#define GO_ON (-1)

/* Threads stop in front of their first wait, for a mutex aside. */
static atomic_bool has_door;
static int door_answer; /* an errno value, or GO_ON: ask the kernel */
/* One door behind the other; all but the last say EAGAIN. */
static atomic_int nr_doors, nr_at_door, nr_open;
static _Thread_local int nr_passed;

static atomic_bool is_late; /* who is woken does not come back */
static _Thread_local void (*before_requeue)(void); /* called once */
static _Thread_local bool pi_again;		   /* once */
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

/* What the library calls. */
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

/* door N: held in front of their calls */
STEP_DO(door, start_at_door(args[0], GO_ON, NULL));

/* doors N: likewise, and all have joined when each looked last */
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

/* answer ERROR N: which the kernel answers then, or 0: they are woken */
STEP_DO(answer, start_at_door(args[1], args[0], NULL));

/* A wait whose time is over when others have hardly begun. */
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
 * So the word is no longer what it was; whom it has woken does not take its token
 * yet, which would make it the same again.
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
	nr_at_door = 1; /* perhaps nobody was moved */
	return arg;
}

/* By the holder, when another thread has yet to move whom it has released. */
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

/* If nobody is to be moved, there was no other signal. */
STEP(each_has_returned_one)
{
	before_requeue = NULL;
	return fixture_count(&fixture, RETURNED) == 1 + was_second;
}

STEP_DO(requeue_pi_again, pi_again = args[0]);
STEP_DO(requeue_pi_refused, pi_is_refused = args[0]);
STEP_DO(wakers_are_late, settles = args[0]);

/* With a private and with a shared condvar. */
static const struct scene scenes[] = {
	{ "a signal in front of the sleep",
	  "door 2; signal; open; returned = 1" },
	/* Nobody sleeps, so only the word can tell them. */
	{ "a signal in front of both sleeps",
	  "doors 2; signal; open; returned = 1" },
	{ "a broadcast in front of the sleep",
	  "door 2; broadcast_on; open; returned = 2" },
	{ "woken for no reason", "answer 0; open; returned = 0" },
	{ "EINTR for no reason", "answer EINTR; open; returned = 0" },
	{ "EAGAIN for no reason", "answer EAGAIN; open; returned = 0" },
	/* Of two, either may have it. */
	{ "the deadline, when a signal was sent: one has the signal",
	  "answer_timeout 2; time_passes; signal; open; gone 2; zeros = 1" },
	/* Who has left, or was signalled and does not know, takes no other. */
	{ "one has timed out, two are late: all signals arrive",
	  "answer EAGAIN 2; shortly; gone 1; signal; wait; signal 2; open;"
	  "returned; zeros = 3" },
	{ "a signal, and a broadcast to old and young",
	  "wait 3; signal; returned = 1; wait 2; broadcast_on; returned = 5" },
};

static const struct scene with_shared[] = {
	{ "destroyed when another thread has yet to move them",
	  "wait 3; lock; destroy_beside_a_broadcast = 0; unlock;"
	  "returned = 3" },
};

/* Wakers of a shared condvar keep its lock, which the woken need. */
static const struct scene with_private[] = {
	{ "the same, late behind each call",
	  "wait 3; wakers_are_late; signal; returned = 1; wait 2;"
	  "broadcast_on; wakers_are_late 0; returned = 5" },
	/*
	 * The signal moves one waiter, and another one, which is awake, takes
	 * it: it waits for the mutex behind the first one, who is woken there
	 * for nothing.
	 */
	{ "a signal, taken by another than was moved: one returns",
	  "wait; door 1; lock; signal; open; returned; unlock; returned = 1" },
	/* Each of those that are moved has to go on to wake the next one. */
	{ "two signals by the holder: 2 return",
	  "wait 3; lock; signal 2; unlock; returned = 2" },
	{ "a broadcast by the holder: 3 return",
	  "wait 3; lock; broadcast_on; unlock; returned = 3" },
	{ "a signal, and another before it moves: each wakes one",
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
	/* Its sleep is no requeue-PI, and does not give it the mutex. */
	{ "requeue-PI is refused, woken for no reason: the holder has it",
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
	/* For one that sleeps, which is cancelled once it is awake. */
	pthread_cond_broadcast(&cond);
	tap_ok(joined(victim.thread) == PTHREAD_CANCELED && !asleep,
	       "%s: a cancellation in front of the sleep", label);
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
