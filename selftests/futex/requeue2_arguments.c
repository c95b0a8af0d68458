// SPDX-License-Identifier: GPL-2.0-only
/*
 * What futex_requeue(2) refuses beyond what the older operations do: flags of
 * its own, and two futexes whose flags differ.
 */
#include "run.h"
#include "sleepers.h"

#define NR_TESTS 9

static uint32_t from, to;

static long requeue2(uint32_t from_flags, uint32_t to_flags, uint64_t val,
		     uint32_t reserved)
{
	struct futex_waitv pair[2] = {
		{
			.val = val,
			.uaddr = (uintptr_t)&from,
			.flags = from_flags,
			.__reserved = reserved,
		},
		{ .uaddr = (uintptr_t)&to, .flags = to_flags },
	};

	return sys_futex_requeue2(pair, 0, 1, 1);
}

static void test_arguments(void)
{
	const uint32_t private = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	struct futex_waitv pair[2] = { { .flags = 0 } };

	tap_is(requeue2(private, private, 0, 0), 0, "good arguments");
	tap_is(sys_futex_requeue2(pair, 1, 1, 1), -EINVAL, "a flag: EINVAL");
	tap_is(sys_futex_requeue2(NULL, 0, 1, 1), -EINVAL,
	       "no futexes: EINVAL");
	tap_is(sys_futex_requeue2((void *)8, 0, 1, 1), -EFAULT,
	       "futexes at a bad address: EFAULT");
	tap_is(requeue2(0, 0, 0, 0), -EINVAL, "no size: EINVAL");
	tap_is(requeue2(private | 0x40, private, 0, 0), -EINVAL,
	       "a flag that does not exist: EINVAL");
	tap_is(requeue2(private, private, 0, 1), -EINVAL,
	       "reserved field in use: EINVAL");
	tap_is(requeue2(private, private, UINT64_C(1) << 32, 0), -EINVAL,
	       "a value of more than 32 bits: EINVAL");
}

/* Without this check a private waiter would be moved to a shared key. */
static void test_flags_differ(void)
{
	const uint32_t private = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	struct sleepers sleepers = sleepers_of(1);
	long answer;

	sleepers_wait_on(&sleepers, &from, FUTEX_PRIVATE_FLAG);
	answer = requeue2(private, FUTEX2_SIZE_U32, 0, 0);
	tap_ok(answer == -EINVAL &&
		       requeue2(FUTEX2_SIZE_U32, private, 0, 0) == -EINVAL &&
		       sleepers_wake_all(&sleepers, &from,
					 FUTEX_PRIVATE_FLAG) == 1,
	       "private and shared: EINVAL");
	sleepers_end(&sleepers);
}

int main(void)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_TESTS);
	if (variant_is_host() && !requeue_op_exists(&requeue_ops[2])) {
		for (int i = 0; i < NR_TESTS; i++)
			tap_skip("futex_requeue(2)", "not in this kernel");
		return tap_exit();
	}
	test_arguments();
	test_flags_differ();
	return tap_exit();
}
