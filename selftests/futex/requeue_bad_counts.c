// SPDX-License-Identifier: GPL-2.0-only
/*
 * Negative counts are refused before anything is touched (CVE-2018-6927: the
 * sum of the counts overflowed in the kernel).
 */
#include "run.h"
#include "sleepers.h"

#define FLAGS FUTEX_PRIVATE_FLAG

static const struct {
	int nr_wake;
	int nr_requeue;
} bad[] = {
	{ -1, 0 },	{ 0, -1 },	 { -1, -1 },	  { INT_MIN, 1 },
	{ 1, INT_MIN }, { INT_MAX, -1 }, { -1, INT_MAX },
};

#define NR_BAD ((int)(sizeof(bad) / sizeof(bad[0])))

static uint32_t from, to;

static void test_op(const struct requeue_op *op)
{
	struct sleepers sleepers = sleepers_of(2);

	sleepers_fill(&sleepers, 2, &from, FLAGS);
	for (int i = 0; i < NR_BAD; i++)
		tap_is(op->requeue(&from, &to, FLAGS, bad[i].nr_wake,
				   bad[i].nr_requeue),
		       -EINVAL, "%s: wake %d, requeue %d: EINVAL", op->name,
		       bad[i].nr_wake, bad[i].nr_requeue);
	tap_is(sleepers_wake_all(&sleepers, &from, FLAGS), 2,
	       "%s: all still wait at the source", op->name);
	sleepers_end(&sleepers);
}

int main(void)
{
	return requeue_main(test_op, NR_BAD + 1);
}
