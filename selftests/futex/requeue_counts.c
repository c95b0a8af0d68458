// SPDX-License-Identifier: GPL-2.0-only
/*
 * nr_wake are woken, then nr_requeue moved, and the answer is their sum; the
 * rest stays. With no, one, several and all of five waiters, and INT_MAX.
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 5

static const int counts[] = { 0, 1, 2, NR_WAITERS, INT_MAX };
#define NR_COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

static uint32_t from, to;

static int at_most(int a, int b)
{
	return a < b ? a : b;
}

static void test_counts(const struct requeue_op *op, int nr_wake,
			int nr_requeue)
{
	int woken = at_most(nr_wake, NR_WAITERS);
	int moved = at_most(nr_requeue, NR_WAITERS - woken);
	struct sleepers sleepers = sleepers_of(NR_WAITERS);
	long answer;
	int at_from, at_to;

	sleepers_fill(&sleepers, NR_WAITERS, &from, FUTEX_PRIVATE_FLAG);
	answer = op->requeue(&from, &to, FUTEX_PRIVATE_FLAG, nr_wake,
			     nr_requeue);
	sleepers_returned(&sleepers, woken);
	at_to = sleepers_wake_all(&sleepers, &to, FUTEX_PRIVATE_FLAG);
	at_from = sleepers_wake_all(&sleepers, &from, FUTEX_PRIVATE_FLAG);
	if (!tap_ok(answer == woken + moved && at_to == moved &&
			    at_from == NR_WAITERS - woken - moved,
		    "%s: wake %d, requeue %d", op->name, nr_wake, nr_requeue))
		tap_diag("answer %ld, %d at the target, %d at the source",
			 answer, at_to, at_from);
	sleepers_end(&sleepers);
}

static void test_nobody(const struct requeue_op *op)
{
	tap_is(op->requeue(&from, &to, FUTEX_PRIVATE_FLAG, 1, INT_MAX), 0,
	       "%s: nobody waits", op->name);
}

static void test_op(const struct requeue_op *op)
{
	for (int wake = 0; wake < NR_COUNTS; wake++)
		for (int requeue = 0; requeue < NR_COUNTS; requeue++)
			test_counts(op, counts[wake], counts[requeue]);
	test_nobody(op);
}

int main(void)
{
	return requeue_main(test_op, NR_COUNTS * NR_COUNTS + 1);
}
