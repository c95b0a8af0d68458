/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * variant.h - which kernel a test runs on, and what must hold on `none`
 *
 * DROVER_VARIANT says it: none, mainline or drover in a guest, set by the
 * runner; anything else or nothing is the host's own kernel. On `none` every
 * requeue must answer ENOSYS and leave the waiters alone: every test of
 * requeue tests that there, instead of skipping.
 *
 *	if (variant_is("none"))
 *		return requeue_absent_main();
 */
#ifndef DROVER_SELFTESTS_VARIANT_H
#define DROVER_SELFTESTS_VARIANT_H

#include <stdlib.h>
#include <string.h>

#include "herd.h"
#include "requeue_op.h"

static inline bool variant_is(const char *name)
{
	const char *variant = getenv("DROVER_VARIANT");

	return variant && strcmp(variant, name) == 0;
}

/* A guest's kernel is known and must have all; the host's may be older. */
static inline bool variant_is_host(void)
{
	return !variant_is("none") && !variant_is("mainline") &&
	       !variant_is("drover");
}

/*
 * for_each_requeue_op - run @test, which reports @nr_results results, with
 * every way to requeue; what an older kernel of the host lacks is skipped
 */
static inline void
for_each_requeue_op(void (*test)(const struct requeue_op *op), int nr_results)
{
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		const struct requeue_op *op = &requeue_ops[i];

		if (!variant_is_host() || requeue_op_exists(op)) {
			test(op);
			continue;
		}
		for (int result = 0; result < nr_results; result++)
			tap_skip(op->name, "not in this kernel");
	}
}

static inline void requeue_absent(const struct requeue_op *op, int flags)
{
	const char *kind = flags ? "private" : "shared";
	static uint32_t from, to;
	struct herd herd = herd_of(1);

	herd_wait_on(&herd, &from, flags);
	tap_is(op->requeue(&from, &to, flags, 1, 1), -ENOSYS, "%s, %s: ENOSYS",
	       op->name, kind);
	tap_is(sys_futex_wake(&to, flags, 1), 0, "%s, %s: nobody was moved",
	       op->name, kind);
	tap_is(herd_wake_all(&herd, &from, flags), 1,
	       "%s, %s: the waiter still waits", op->name, kind);
	herd_end(&herd);
}

/* requeue_absent_main - what main() does on a kernel without requeue */
static inline int requeue_absent_main(void)
{
	tap_plan(NR_REQUEUE_OPS * 2 * 3);
	for (int i = 0; i < NR_REQUEUE_OPS; i++) {
		requeue_absent(&requeue_ops[i], 0);
		requeue_absent(&requeue_ops[i], FUTEX_PRIVATE_FLAG);
	}
	return tap_exit();
}

#endif /* DROVER_SELFTESTS_VARIANT_H */
