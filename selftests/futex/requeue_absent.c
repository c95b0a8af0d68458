// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which operations the kernel has: without CONFIG_FUTEX_REQUEUE the five that
 * requeue answer ENOSYS whatever their arguments, and leave waiters alone, and
 * all others work; with it none answers ENOSYS.
 */
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static uint32_t word, other;

/* With arguments that are refused, so that no call can sleep. */
static const struct {
	const char *name;
	int op; /* 0: futex_requeue(2) */
	int val, val2;
	const uint32_t *to;
} requeues[] = {
	{ "FUTEX_REQUEUE", FUTEX_REQUEUE, -1, 1, &other },
	{ "FUTEX_CMP_REQUEUE", FUTEX_CMP_REQUEUE, -1, 1, &other },
	{ "FUTEX_WAIT_REQUEUE_PI", FUTEX_WAIT_REQUEUE_PI, 0, 0, &word },
	{ "FUTEX_CMP_REQUEUE_PI", FUTEX_CMP_REQUEUE_PI, 1, 1, &word },
	{ "futex_requeue(2)", 0, 0, 0, NULL },
};

static void test_requeues(void)
{
	bool absent = variant_is("none");

	for (int i = 0; i < NR_OF(requeues); i++) {
		int op = requeues[i].op;
		long answer = op ? sys_futex(&word, op | FLAGS, requeues[i].val,
					     requeues[i].val2, requeues[i].to,
					     0) :
				   sys_futex_requeue2(NULL, 0, 1, 1);

		if (answer == -ENOSYS && !op && variant_is_host())
			tap_skip(requeues[i].name, "not in this kernel");
		else
			tap_is(answer, absent ? -ENOSYS : -EINVAL, "%s: %s",
			       requeues[i].name, absent ? "ENOSYS" : "there");
	}
}

/* Where there is none, the waiter is left alone. */
static void test_waiter(const struct requeue_op *op, int flags)
{
	if (!variant_is("none")) {
		tap_skip(op->name, "it is there");
		return;
	}
	sleepers_fill(1, &word, flags);
	tap_ok(requeue_by(op, &word, &other, flags, 1, 1) == -ENOSYS &&
		       sleepers_wake(&other, flags, 1) == 0 &&
		       sleepers_wake(&word, flags, 1) == 1,
	       "%s: the waiter still waits", op->name);
	sleepers_end();
}

static void test_wait_and_wake(void)
{
	const struct timespec now = { 0 };

	tap_is(sys_futex_wait(&word, FLAGS, 1, NULL), -EAGAIN,
	       "FUTEX_WAIT: compares");
	tap_is(sys_futex_wait(&word, FLAGS, 0, &now), -ETIMEDOUT,
	       "FUTEX_WAIT: times out");
	sleepers_fill(2, &word, FLAGS);
	tap_ok(sleepers_wake(&word, FLAGS, 1) == 1 &&
		       sleepers_wake(&word, FLAGS, INT_MAX) == 1,
	       "FUTEX_WAKE: one of two, then the other");
	sleepers_end();
	sleepers_fill(1, &word, FLAGS);
	sleepers_fill(1, &other, FLAGS);
	/* It wakes at both, if the second one's word was 0. */
	tap_ok(sys_futex(&word, FUTEX_WAKE_OP | FLAGS, 1, 1, &other,
			 FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0)) == 2 &&
		       other == 7,
	       "FUTEX_WAKE_OP");
	sleepers_end();
	other = 0;
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
	wait_until(__atomic_load_n(owner, __ATOMIC_ACQUIRE) & FUTEX_WAITERS,
		   "the second locker never waited");
	tap_is(sys_futex_unlock_pi(owner, FLAGS), 0, "FUTEX_UNLOCK_PI");
	pthread_join(locker, NULL);
	tap_is(answer, 0, "FUTEX_LOCK_PI: waited for and got");
}

int main(void)
{
	tap_plan(NR_OF(requeues) + 4 + 3 + 2 * NR_REQUEUE_OPS);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		test_waiter(&requeue_ops[i], 0);
		test_waiter(&requeue_ops[i], FLAGS);
	}
	test_requeues();
	test_wait_and_wake();
	test_lock_pi();
	return tap_exit();
}
