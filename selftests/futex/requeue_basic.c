// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiter that is requeued leaves the source and waits at the target, in
 * every kind of memory and by every way to requeue.
 */
#include <sys/mman.h>

#include "run.h"
#include "sleepers.h"

#define WORDS_SIZE  4096
#define NR_MEMORIES 4

struct memory {
	const char *name;
	int flags; /* of the futex */
	uint32_t *words;
	uint32_t *alias; /* the same words at another address */
};

static uint32_t *map(int mmap_flags, int fd)
{
	void *words = mmap(NULL, WORDS_SIZE, PROT_READ | PROT_WRITE, mmap_flags,
			   fd, 0);

	if (words == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return words;
}

static int file(void)
{
	int fd = memfd_create("futex words", 0);

	if (fd < 0 || ftruncate(fd, WORDS_SIZE))
		tap_bail("memfd: %s", strerror(errno));
	return fd;
}

/* Wakes by the alias, if there is one: the futex is the key, not the address */
static void test_move(const struct memory *memory, const struct requeue_op *op)
{
	uint32_t *from = &memory->words[0], *to = &memory->words[1];
	struct sleepers sleepers = sleepers_of(1);
	int at_from, at_to;
	long answer;

	sleepers_wait_on(&sleepers, from, memory->flags);
	answer = op->requeue(from, to, memory->flags, 0, 1);
	at_from = sleepers_wake_all(&sleepers, from, memory->flags);
	at_to = sleepers_wake_all(&sleepers, &memory->alias[1], memory->flags);
	if (!tap_ok(answer == 1 && at_from == 0 && at_to == 1, "%s, %s",
		    op->name, memory->name))
		tap_diag("answer %ld, %d at the source, %d at the target",
			 answer, at_from, at_to);
	sleepers_end(&sleepers);
}

static void test_op(const struct requeue_op *op)
{
	static uint32_t own[2];
	int fd = file();
	uint32_t *anonymous = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	uint32_t *mapped = map(MAP_SHARED, fd);
	uint32_t *again = map(MAP_SHARED, fd);
	const struct memory memories[NR_MEMORIES] = {
		{ "private futex", FUTEX_PRIVATE_FLAG, own, own },
		{ "shared futex, own memory", 0, own, own },
		{ "shared futex, anonymous memory", 0, anonymous, anonymous },
		{ "shared futex, file mapped twice", 0, mapped, again },
	};

	for (int i = 0; i < NR_MEMORIES; i++)
		test_move(&memories[i], op);
	munmap(anonymous, WORDS_SIZE);
	munmap(mapped, WORDS_SIZE);
	munmap(again, WORDS_SIZE);
	close(fd);
}

int main(void)
{
	return requeue_main(test_op, NR_MEMORIES);
}
