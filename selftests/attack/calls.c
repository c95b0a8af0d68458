// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library's futex calls are counted. Without waiters there is none, and no
 * other system call; a signal makes one, a broadcast or a wait at most two.
 * While the waiters poll, neither side makes any. There is one wake-ahead for
 * each broadcast, the mutex's holder moves waiters in slices, and the library
 * makes no more requeues after one was refused.
 *
 * APIs: drover pthread
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "base/poll.h"

#define MOST_MEMBERS 150
#include "../cond/steps.h"
#include "futex_call.h"

/* Threads poll for so many microseconds, which is longer than a scene takes. */
#define POLLING "spin=100000"

/* Calls of this thread, and of each member until it has the mutex again. */
static _Thread_local int nr_calls;
static atomic_int nr_member_calls, nr_ahead, nr_requeues;
static atomic_long most_moved;
static _Thread_local bool takes_back; /* the mutex, before its unlock wakes */
static atomic_bool refuses;

static atomic_int nr_yields;
static _Thread_local bool cancels; /* the thread itself, when it polls */

int sched_yield(void)
{
	nr_yields++;
	if (cancels)
		pthread_cancel(pthread_self());
	cancels = false;
	return syscall(SYS_sched_yield);
}

/* The library calls this function. An unlock that wakes ahead wakes several. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	int command = op & FUTEX_CMD_MASK;

	nr_calls++;
	if (command == FUTEX_CMP_REQUEUE) {
		nr_requeues++;
		if ((long)timeout_or_val2 > most_moved)
			most_moved = (long)timeout_or_val2;
		if (refuses) {
			errno = ENOSYS;
			return -1;
		}
	}
	if (command == FUTEX_WAKE && api_mutex_has(&mutex, word)) {
		nr_ahead += val > 1;
		if (takes_back) {
			takes_back = false;
			api_mutex_lock(&mutex);
		}
	}
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

STEP(count)
{
	nr_calls = 0;
	nr_member_calls = nr_ahead = nr_requeues = nr_yields = 0;
	most_moved = 0;
	return 0;
}

STEP_IS(calls, nr_calls);
STEP_IS(calls_at_most, nr_calls <= args[0]);
STEP_IS(member_calls_at_most, nr_member_calls <= args[0]);
STEP_IS(ahead, nr_ahead);
STEP_IS(requeues, nr_requeues);
STEP_IS(yields, nr_yields);
STEP_IS(moved_at_once, most_moved);
STEP_DO(takes_back, takes_back = true);
STEP_DO(refused, refuses = true);
NUMBER(one_ahead, 0); /* 1 if the policy has wake-ahead */
NUMBER(moves_one, 0); /* 1 if a signal by the holder moves its waiter */

static void count_calls(struct member *member)
{
	nr_member_calls += nr_calls;
}

/*
 * counted N: N members wait, asleep or not. The main thread has not contended
 * with them for the mutex, which would cost a call.
 */
STEP(counted)
{
	const struct member how = { .then = count_calls };

	for (int i = 0; i < args[0]; i++) {
		struct member *member = fixture_start(&fixture, &how);

		while (!member->waiting || api_mutex_trylock(&mutex))
			sched_yield();
		api_mutex_unlock(&mutex);
	}
	return 0;
}

static const struct scene scenes[] = {
	{ "no thread ever waited: no call",
	  "count; signal; broadcast; lock; signal; broadcast; calls = 0" },
	{ "no thread waits any more: no call",
	  "wait 20; lock; broadcast; unlock; gone 20; wait 1; lock; signal;"
	  "unlock; gone 21; count; signal; broadcast; lock; signal; broadcast;"
	  "calls = 0" },
	{ "signal to 20, mutex free: one call",
	  "wait 20; count; signal; calls = 1" },
	{ "signal to 20, mutex held: one call, which wakes or moves",
	  "wait 20; lock; count; signal; calls = 1; requeues = moves_one" },
	{ "broadcast to 20, mutex free: one call",
	  "wait 20; count; broadcast; calls = 1" },
	{ "broadcast to 20, mutex held: one call",
	  "wait 20; lock; count; broadcast; calls = 1" },
	{ "broadcast after a signal, mutex free: at most two",
	  "wait 10; signal; gone 1; wait 10; count; broadcast;"
	  "calls_at_most 2 = 1" },
	{ "broadcast after a signal, mutex held: at most two",
	  "wait 10; signal; gone 1; wait 10; lock; count; broadcast;"
	  "calls_at_most 2 = 1" },
	{ "a wait, mutex free: one or two calls",
	  "count; counted; sleeps 0 = 1; signal; gone 1;"
	  "member_calls_at_most 2 = 1; member_calls_at_most 0 = 0" },
	{ "a wait, mutex held: one or two calls",
	  "count; counted; sleeps 0 = 1; lock; signal; unlock; gone 1;"
	  "member_calls_at_most 2 = 1; member_calls_at_most 0 = 0" },
	{ "a wait that times out: at most one call, and then none",
	  "lock; count; time_out; calls_at_most 1 = 1; unlock; count; signal;"
	  "broadcast; calls = 0" },
};

#define NO_CALL " calls = 0; member_calls_at_most 0 = 1"

static const struct scene polling[] = {
	{ "a signal: no call", "count; counted; signal; gone 1;" NO_CALL },
	{ "a signal, mutex held: no call",
	  "count; counted; lock; signal; unlock; gone 1;" NO_CALL },
	{ "a broadcast, mutex held: no call",
	  "count; counted; lock; broadcast; unlock; gone 1;" NO_CALL },
	{ "a deadline that has passed: no poll",
	  "lock; count; time_out; unlock; yields = 0" },
};

static const struct scene moves[] = {
	{ "a broadcast by the holder moves 150 by three calls",
	  "wait 150; lock; count; broadcast; requeues = 3; moved_at_once = 64" },
	{ "a broadcast by another thread moves 150 by one call",
	  "wait 150; hold; count; broadcast; requeues = 1; moved_at_once = max" },
	{ "the unlock after a broadcast wakes ahead, if the policy does",
	  "wait 20; count; lock; broadcast; unlock; gone 20;"
	  "ahead = one_ahead" },
#if !API_IS_PTHREAD /* glibc's mutex wakes by a call of its own */
	{ "the mutex is taken back: only the last unlock wakes ahead",
	  "wait 20; count; lock; broadcast; takes_back; unlock; returned = 0;"
	  "ahead = 0; unlock; gone 20; ahead = one_ahead" },
#endif
};

#if API_IS_PTHREAD
static void *poll_cancelled(void *arg)
{
	cancels = true;
	api_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	api_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return arg;
}

STEP(is_cancelled)
{
	return joined(thread_of(poll_cancelled, NULL)) == PTHREAD_CANCELED;
}
#endif

/* The kernel kills a strict process for any call but read, write and exit. */
static bool call_strictly(void)
{
	/* The first round: the library asks once for the thread's id. */
	for (int strict = 0; strict <= 1; strict++) {
		if (strict && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			return false;
		steps_do("signal; broadcast; lock; signal; broadcast; unlock");
	}
	syscall(SYS_exit, 0);
	return false;
}

static void test_silence(const char *policy)
{
	for (int i = 0; i < 4; i++) {
		const char *kind = i & 2 ? "shared" : "private";

		if (i & 1)
			scene_holds("wait; signal; gone 1");
		else
			scene_start(policy, "normal", i & 2);
		if (prctl(PR_GET_SECCOMP) || !CHILDREN_MAY_HAVE_THREADS)
			tap_skip(kind, "strict seccomp is not possible here");
		else
			tap_ok(child_does(call_strictly, kind),
			       "%s: %s, no thread %s: no system call", policy,
			       kind, i & 1 ? "waits any more" : "ever waited");
	}
}

static const char *const names[] = { "auto",   "requeue", "wake-all",
				     "spin=0", "spin=1",  POLLING };

static void test(const char *policy)
{
	word_one_ahead.value = !strcmp(policy, "auto") && poll_has_cpu();
	word_moves_one.value = !strcmp(policy, "requeue");
	test_silence(policy);
	scene_start(policy, "normal", false);
	if (!strcmp(policy, POLLING)) {
		scenes_test("polls", polling, NR_OF(polling));
		if (!poll_has_cpu())
			tap_skip("polls: a broadcast to two",
				 "there is one CPU");
		else
			tap_ok(scene_holds("count; counted 2; broadcast;"
					   "gone 2;" NO_CALL),
			       "polls: a broadcast to two: no call");
#if API_IS_PTHREAD
		if (!skips_cancellation("a cancellation ends the poll"))
			tap_ok(scene_holds("count; is_cancelled = 1;"
					   "yields = 1"),
			       "a cancellation ends the poll");
#endif
		return;
	}
	scenes_test(policy, scenes, NR_OF(scenes));
	if (strcmp(policy, "auto") && strcmp(policy, "requeue"))
		return;
	scenes_test(policy, moves, NR_OF(moves));
	tap_ok(scene_holds(
		       "refused; wait 8; lock; broadcast; unlock; gone 8;"
		       "count; wait 4; signal; gone 9; wait 4; lock; broadcast;"
		       "unlock; gone 16; wait 8; each 24 1 = 1; requeues = 0"),
	       "%s: a requeue is refused: the library makes no other", policy);
}

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	return policies_main(argv, names, NR_OF(names), test);
}
