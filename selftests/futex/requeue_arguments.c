// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arguments that requeue refuses: addresses that are no futex, memory that may
 * not be read, a PI futex that is its own source (CVE-2014-3153: one mapped
 * twice went unnoticed), and what futex_requeue(2) refuses beyond the others.
 */
#include <sys/mman.h>

#include "steps.h"

#define PAGE_SIZE      4096
#define KERNEL_ADDRESS ((void *)(UINTPTR_MAX - PAGE_SIZE + 1))
#define PRIVATE	       (FUTEX2_SIZE_U32 | FUTEX2_PRIVATE)

static uint32_t good[2], *unmapped;

static void *map(int prot, int map_flags, int fd)
{
	void *at = mmap(NULL, PAGE_SIZE, prot, map_flags, fd, 0);

	if (at == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return at;
}

/* One file, as writable memory and as another mapping of it. */
static void map_twice(int prot)
{
	int fd = memfd_create("futex words", 0);

	if (fd < 0 || ftruncate(fd, PAGE_SIZE))
		tap_bail("memfd: %s", strerror(errno));
	futexes = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	aliases = map(prot, MAP_SHARED, fd);
	close(fd);
}

/*
 * A private futex is a number to the kernel until it reads the word, so only
 * those that compare can tell that it is not mapped.
 */
static void test_addresses(void)
{
	char *bytes = (char *)good;
	const struct {
		const char *what;
		const void *from, *to;
		long private_answer, shared_answer;
	} rows[] = {
		{ "source off by one", bytes + 1, &good[1], -EINVAL, -EINVAL },
		{ "source off by two", bytes + 2, &good[1], -EINVAL, -EINVAL },
		{ "target off by one", good, bytes + 5, -EINVAL, -EINVAL },
		{ "target off by three", good, bytes + 7, -EINVAL, -EINVAL },
		{ "kernel source", KERNEL_ADDRESS, good, -EFAULT, -EFAULT },
		{ "kernel target", good, KERNEL_ADDRESS, -EFAULT, -EFAULT },
		{ "unmapped source", unmapped, good, compares() ? -EFAULT : 0,
		  -EFAULT },
		{ "unmapped target", good, unmapped, 0, -EFAULT },
	};

	for (int i = 0; i < 8; i++) {
		tap_is(op->requeue(rows[i].from, rows[i].to, FUTEX_PRIVATE_FLAG,
				   1, 1),
		       rows[i].private_answer, "%s: private, %s", op->name,
		       rows[i].what);
		tap_is(op->requeue(rows[i].from, rows[i].to, 0, 1, 1),
		       rows[i].shared_answer, "%s: shared, %s", op->name,
		       rows[i].what);
	}
}

/* A waiter can be moved to a private one, and woken there. */
static void test_unmapped_target(void)
{
	sleepers = sleepers_of(1);
	sleepers_wait_on(&sleepers, good, FUTEX_PRIVATE_FLAG);
	op->requeue(good, unmapped, FUTEX_PRIVATE_FLAG, 0, 1);
	tap_is(sleepers_wake_all(&sleepers, unmapped, FUTEX_PRIVATE_FLAG), 1,
	       "%s: woken at an unmapped target", op->name);
	sleepers_end(&sleepers);
}

/*
 * Read-only memory does, if it can change under the reader; an anonymous page
 * cannot, and is refused as a shared futex.
 */
static void test_read_only(void)
{
	uint32_t *page =
		map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	map_twice(PROT_READ);
	flags = 0;
	sleepers = sleepers_of(2);
	sleepers_wait_on(&sleepers, &futexes[FROM], 0);
	tap_ok(op->requeue(&aliases[FROM], &aliases[TO], 0, 0, 1) == 1 &&
		       sleepers_wake_all(&sleepers, &futexes[TO], 0) == 1,
	       "%s: read-only, shared, file", op->name);
	page[0] = 0; /* a page of its own, not the zero page */
	if (mprotect(page, PAGE_SIZE, PROT_READ))
		tap_bail("mprotect: %s", strerror(errno));
	tap_is(op->requeue(&page[0], good, 0, 1, 1), -EFAULT,
	       "%s: read-only, shared, anonymous source", op->name);
	tap_is(op->requeue(good, &page[0], 0, 1, 1), -EFAULT,
	       "%s: read-only, shared, anonymous target", op->name);
	sleepers_wait_on(&sleepers, &page[0], FUTEX_PRIVATE_FLAG);
	tap_is(op->requeue(&page[0], &page[1], FUTEX_PRIVATE_FLAG, 0, 1), 1,
	       "%s: read-only, private, anonymous", op->name);
	sleepers_wake_all(&sleepers, &page[1], FUTEX_PRIVATE_FLAG);
	sleepers_end(&sleepers);
	munmap(page, PAGE_SIZE);
	munmap(futexes, PAGE_SIZE);
	munmap(aliases, PAGE_SIZE);
}

static void test_op(const struct requeue_op *which)
{
	op = which;
	test_addresses();
	test_unmapped_target();
	test_read_only();
}

#define NR_RESULTS (16 + 1 + 4)

static void test_same_pi(const uint32_t *one, const uint32_t *other, int how,
			 const char *what)
{
	tap_is(sys_futex_cmp_requeue_pi(one, other, how, 1, 1, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI to itself, %s", what);
	tap_is(sys_futex_wait_requeue_pi(one, other, how, 0, NULL), -EINVAL,
	       "FUTEX_WAIT_REQUEUE_PI to itself, %s", what);
}

/* FUTEX_CMP_REQUEUE_PI wakes one at most, and only one may be asked for. */
static void test_pi(void)
{
	static const struct {
		int nr_wake, nr_requeue;
		uint32_t value;
		long answer;
	} rows[] = {
		{ 0, 1, 0, -EINVAL },
		{ 2, 1, 0, -EINVAL },
		{ 1, -1, 0, -EINVAL },
		{ 1, 1, 5, -EAGAIN },
	};

	for (int i = 0; i < 4; i++)
		tap_is(sys_futex_cmp_requeue_pi(
			       &good[0], &good[1], FUTEX_PRIVATE_FLAG,
			       rows[i].nr_wake, rows[i].nr_requeue,
			       rows[i].value),
		       rows[i].answer,
		       "FUTEX_CMP_REQUEUE_PI: wake %d, requeue %d, value %u",
		       rows[i].nr_wake, rows[i].nr_requeue, rows[i].value);
	test_same_pi(good, good, FUTEX_PRIVATE_FLAG, "private");
	test_same_pi(good, good, 0, "shared");
	map_twice(PROT_READ | PROT_WRITE);
	test_same_pi(futexes, aliases, 0, "mapped twice");
}

#define NR_OF_PI (4 + 3 * 2)

/* What is compared is the value given, not zero. */
static void test_value(void)
{
	good[0] = 17;
	tap_ok(sys_futex_cmp_requeue(&good[0], &good[1], 0, 0, 1, 0) ==
			       -EAGAIN &&
		       sys_futex_cmp_requeue(&good[0], &good[1], 0, 0, 1, 17) ==
			       0,
	       "FUTEX_CMP_REQUEUE compares the value that it is given");
	good[0] = 0;
}

/* Moving a private waiter to a shared key is one of those that are refused. */
static void test_requeue2(void)
{
	static const struct {
		const char *what;
		uint32_t from_flags, to_flags, reserved;
		uint64_t value;
		unsigned int flags;
		long answer;
	} rows[] = {
		{ "good arguments", PRIVATE, PRIVATE, 0, 0, 0, 0 },
		{ "a flag", PRIVATE, PRIVATE, 0, 0, 1, -EINVAL },
		{ "no size", 0, 0, 0, 0, 0, -EINVAL },
		{ "no such flag", PRIVATE | 0x40, PRIVATE, 0, 0, 0, -EINVAL },
		{ "reserved field", PRIVATE, PRIVATE, 1, 0, 0, -EINVAL },
		{ "33 bits", PRIVATE, PRIVATE, 0, 1ull << 32, 0, -EINVAL },
		{ "to shared", PRIVATE, FUTEX2_SIZE_U32, 0, 0, 0, -EINVAL },
		{ "to private", FUTEX2_SIZE_U32, PRIVATE, 0, 0, 0, -EINVAL },
	};

	for (int i = 0; i < 8; i++) {
		struct futex_waitv pair[2] = {
			{ .val = rows[i].value,
			  .uaddr = (uintptr_t)&good[0],
			  .flags = rows[i].from_flags,
			  .__reserved = rows[i].reserved },
			{ .uaddr = (uintptr_t)&good[1],
			  .flags = rows[i].to_flags },
		};

		tap_is(sys_futex_requeue2(pair, rows[i].flags, 1, 1),
		       rows[i].answer, "futex_requeue(2): %s", rows[i].what);
	}
	tap_is(sys_futex_requeue2(NULL, 0, 1, 1), -EINVAL,
	       "futex_requeue(2): no futexes");
	tap_is(sys_futex_requeue2((void *)8, 0, 1, 1), -EFAULT,
	       "futex_requeue(2): futexes at a bad address");
}

#define NR_OF_REQUEUE2 (8 + 2)

int main(void)
{
	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * NR_RESULTS + NR_OF_PI + 1 + NR_OF_REQUEUE2);
	unmapped = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for_each_requeue_op(test_op, NR_RESULTS);
	test_pi();
	test_value();
	if (variant_is_host() && !requeue_op_exists(&requeue_ops[2]))
		tap_skip_all(NR_OF_REQUEUE2, "futex_requeue(2)",
			     "not in this kernel");
	else
		test_requeue2();
	return tap_exit();
}
