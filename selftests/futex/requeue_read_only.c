// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requeue needs no more than to read: read-only memory does, if it can
 * change under the reader. An anonymous page that is read-only cannot, and
 * is refused as a shared futex.
 */
#include <sys/mman.h>

#include "run.h"
#include "sleepers.h"

#define PAGE_SIZE 4096

static uint32_t *map(int prot, int flags, int fd)
{
	void *words = mmap(NULL, PAGE_SIZE, prot, flags, fd, 0);

	if (words == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return words;
}

/* Moves by a read-only mapping who waits by a writable one. */
static void test_shared_file(const struct requeue_op *op)
{
	int fd = memfd_create("futex words", 0);
	struct sleepers sleepers = sleepers_of(1);
	uint32_t *writable, *readable;

	if (fd < 0 || ftruncate(fd, PAGE_SIZE))
		tap_bail("memfd: %s", strerror(errno));
	writable = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	readable = map(PROT_READ, MAP_SHARED, fd);
	sleepers_wait_on(&sleepers, &writable[0], 0);
	tap_is(op->requeue(&readable[0], &readable[1], 0, 0, 1), 1,
	       "%s: shared, file", op->name);
	tap_is(sleepers_wake_all(&sleepers, &writable[1], 0), 1,
	       "%s: woken at the target", op->name);
	sleepers_end(&sleepers);
	munmap(writable, PAGE_SIZE);
	munmap(readable, PAGE_SIZE);
	close(fd);
}

static void test_anonymous(const struct requeue_op *op)
{
	static uint32_t writable;
	struct sleepers sleepers = sleepers_of(1);
	uint32_t *words =
		map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	words[0] = 0; /* a page of its own, not the zero page */
	if (mprotect(words, PAGE_SIZE, PROT_READ))
		tap_bail("mprotect: %s", strerror(errno));
	tap_is(op->requeue(&words[0], &writable, 0, 1, 1), -EFAULT,
	       "%s: shared, anonymous source", op->name);
	tap_is(op->requeue(&writable, &words[0], 0, 1, 1), -EFAULT,
	       "%s: shared, anonymous target", op->name);
	sleepers_wait_on(&sleepers, &words[0], FUTEX_PRIVATE_FLAG);
	tap_is(op->requeue(&words[0], &words[1], FUTEX_PRIVATE_FLAG, 0, 1), 1,
	       "%s: private, anonymous", op->name);
	sleepers_wake_all(&sleepers, &words[1], FUTEX_PRIVATE_FLAG);
	sleepers_end(&sleepers);
	munmap(words, PAGE_SIZE);
}

static void test_op(const struct requeue_op *op)
{
	test_shared_file(op);
	test_anonymous(op);
}

int main(void)
{
	return requeue_main(test_op, 5);
}
