// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which operations the kernel has: without CONFIG_FUTEX_REQUEUE the five that
 * requeue answer ENOSYS whatever their arguments, and all others work; with
 * it none answers ENOSYS.
 */
#include "steps.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t word, other;

/* It wakes at both, if the second one's word was 0. */
STEP(wake_op)
{
	long woken = sys_futex(&futexes[FROM], FUTEX_WAKE_OP | FLAGS, 1, 1,
			       &futexes[TO],
			       FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0));

	return futexes[TO] == 7 ? woken : -1;
}

/* Arguments that are refused, so that no call can sleep. */
static long wait_requeue_pi(void)
{
	return sys_futex_wait_requeue_pi(&word, &word, FLAGS, 0, NULL);
}

static long cmp_requeue_pi(void)
{
	return sys_futex_cmp_requeue_pi(&word, &word, FLAGS, 1, 1, 0);
}

static long requeue(void)
{
	return sys_futex_requeue(&word, &other, FLAGS, -1, 1);
}

static long cmp_requeue(void)
{
	return sys_futex_cmp_requeue(&word, &other, FLAGS, -1, 1, 0);
}

static long requeue2(void)
{
	return sys_futex_requeue2(NULL, 0, 1, 1);
}

static const struct {
	const char *name;
	long (*call)(void);
} requeues[] = {
	{ "FUTEX_REQUEUE", requeue },
	{ "FUTEX_CMP_REQUEUE", cmp_requeue },
	{ "FUTEX_WAIT_REQUEUE_PI", wait_requeue_pi },
	{ "FUTEX_CMP_REQUEUE_PI", cmp_requeue_pi },
	{ "futex_requeue(2)", requeue2 },
};

static void test_requeues(void)
{
	bool absent = variant_is("none");

	for (int i = 0; i < NR_OF(requeues); i++) {
		long answer = requeues[i].call();

		if (answer == -ENOSYS && i == 4 && variant_is_host())
			tap_skip(requeues[i].name, "not in this kernel");
		else
			tap_is(answer, absent ? -ENOSYS : -EINVAL, "%s: %s",
			       requeues[i].name, absent ? "ENOSYS" : "there");
	}
}

/* Where there is none, the waiter is left alone, private or shared. */
static void test_waiter(const struct requeue_op *which)
{
	op = which;
	for (int i = 0; i < 2; i++) {
		flags = i ? FLAGS : 0;
		tap_ok(steps_hold("wait from; requeue from to 1 1 = -ENOSYS;"
				  "one to = -1; all from = 1"),
		       "%s: the waiter still waits", op->name);
	}
}

static void test_wait_and_wake(void)
{
	const struct timespec now = { 0 };

	tap_is(sys_futex_wait(&word, FLAGS, 1, NULL), -EAGAIN,
	       "FUTEX_WAIT: compares");
	tap_is(sys_futex_wait(&word, FLAGS, 0, &now), -ETIMEDOUT,
	       "FUTEX_WAIT: times out");
	tap_ok(steps_hold("wait from 2; one from = 0; all from = 1"),
	       "FUTEX_WAKE: one of two, then the other");
	tap_ok(steps_hold("wait from; wait to; wake_op = 2; gone 2"),
	       "FUTEX_WAKE_OP");
}

static void *lock_and_unlock(void *result)
{
	*(long *)result = sys_futex_lock_pi(&other, FLAGS, NULL);
	sys_futex_unlock_pi(&other, FLAGS);
	return NULL;
}

/* The second locker sleeps in the kernel and is handed the lock. */
static void test_lock_pi(void)
{
	uint32_t *owner = &other;
	long answer = -1;
	pthread_t locker;

	tap_is(sys_futex_lock_pi(owner, FLAGS, NULL), 0, "FUTEX_LOCK_PI");
	start_thread(&locker, lock_and_unlock, &answer);
	for (int64_t end = blocked_deadline();
	     !(__atomic_load_n(owner, __ATOMIC_ACQUIRE) & FUTEX_WAITERS);
	     sched_yield())
		if (blocked_now_ns() > end)
			tap_bail("the second locker never waited");
	tap_is(sys_futex_unlock_pi(owner, FLAGS), 0, "FUTEX_UNLOCK_PI");
	pthread_join(locker, NULL);
	tap_is(answer, 0, "FUTEX_LOCK_PI: waited for and got");
}

int main(void)
{
	tap_plan(NR_OF(requeues) + 4 + 3 + 2 * NR_REQUEUE_OPS);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		if (variant_is("none"))
			test_waiter(&requeue_ops[i]);
		else
			tap_skip_all(2, requeue_ops[i].name, "it is there");
	}
	flags = FLAGS;
	test_requeues();
	test_wait_and_wake();
	test_lock_pi();
	return tap_exit();
}
