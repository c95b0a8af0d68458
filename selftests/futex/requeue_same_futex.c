// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source and target the same futex. For an ordinary futex that is a wake of
 * nr_wake that counts the others too. To requeue to a PI futex that is its
 * own source is refused: EINVAL, and the same futex is the same key, not
 * the same address (CVE-2014-3153: one futex mapped twice went unnoticed).
 */
#include <sys/mman.h>

#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 4
#define PAGE_SIZE  4096

static void *map_shared(int fd)
{
	void *words = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);

	if (words == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return words;
}

/* The same word at two addresses. */
static void map_twice(uint32_t *words[2])
{
	int fd = memfd_create("futex words", 0);

	if (fd < 0 || ftruncate(fd, PAGE_SIZE))
		tap_bail("memfd: %s", strerror(errno));
	words[0] = map_shared(fd);
	words[1] = map_shared(fd);
	close(fd);
}

static void test_plain(const struct requeue_op *op, uint32_t *one,
		       uint32_t *other, int flags, const char *how)
{
	struct sleepers sleepers = sleepers_of(NR_WAITERS);

	sleepers_fill(&sleepers, NR_WAITERS, one, flags);
	tap_is(op->requeue(one, other, flags, 1, 2), 3,
	       "%s, %s: one woken, two counted", op->name, how);
	sleepers_returned(&sleepers, 1);
	tap_is(sleepers_wake_all(&sleepers, one, flags), NR_WAITERS - 1,
	       "%s, %s: the others still wait", op->name, how);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	static uint32_t word;
	uint32_t *words[2];

	map_twice(words);
	test_plain(op, &word, &word, FUTEX_PRIVATE_FLAG, "private");
	test_plain(op, &word, &word, 0, "shared");
	test_plain(op, words[0], words[1], 0, "mapped twice");
}

static void test_pi(const uint32_t *one, const uint32_t *other, int flags,
		    const char *how)
{
	tap_is(sys_futex_cmp_requeue_pi(one, other, flags, 1, 1, 0), -EINVAL,
	       "FUTEX_CMP_REQUEUE_PI, %s: EINVAL", how);
	tap_is(sys_futex_wait_requeue_pi(one, other, flags, 0, NULL), -EINVAL,
	       "FUTEX_WAIT_REQUEUE_PI, %s: EINVAL", how);
}

int main(void)
{
	static uint32_t word;
	uint32_t *words[2];

	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(NR_REQUEUE_OPS * 6 + 6);
	for_each_requeue_op(test_op, 6);
	map_twice(words);
	test_pi(&word, &word, FUTEX_PRIVATE_FLAG, "private");
	test_pi(&word, &word, 0, "shared");
	test_pi(words[0], words[1], 0, "mapped twice");
	return tap_exit();
}
