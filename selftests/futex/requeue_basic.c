// SPDX-License-Identifier: GPL-2.0-only
/*
 * What requeue does to waiters, by every way to requeue and in every kind of
 * memory: who is woken, who is moved, in which order, and who is left alone.
 *
 * Negative counts are CVE-2018-6927: their sum overflowed in the kernel.
 */
#include <sys/mman.h>

#include "steps.h"

#define WORDS_SIZE 4096
#define NR_COUNTED 5

/* Only for those that compare, or for that which does not. */
STEP(compares)
{
	return compares() ? 0 : STEPS_END;
}

STEP(plain)
{
	return compares() ? STEPS_END : 0;
}

static const struct scene {
	const char *name;
	const char *steps;
} scenes[] = {
	{ "moved", "wait from; requeue from to 0 1 = 1; all from = 0;"
		   "all to = 1" },
	{ "nobody waits", "requeue from to 1 max = 0" },
	{ "the first woken, the others in line",
	  "wait from 6; requeue from to 1 max = 6; gone 1; turn 0 = 0;"
	  "line to 1 5 = 1" },
	{ "in pieces, in line",
	  "wait from 6; requeue from to 0 2 = 2; requeue from to 0 2 = 2;"
	  "requeue from to 0 2 = 2; line to 0 5 = 1" },
	{ "a thousand in one call",
	  "wait from 1000; requeue from to 1 max = 1000; gone 1; all to = 999" },
	{ "a thousand in pieces, all back, in line",
	  "wait from 1000; pieces from to = 1000;"
	  "requeue to from 0 max = 1000; line from 0 999 = 1" },
	{ "the word has changed: who compares moves nobody",
	  "compares; wait from 3; set from 17; requeue from to 1 3 = -EAGAIN;"
	  "set from 0; all from = 3" },
	{ "the word has changed: who does not compare does not care",
	  "plain; wait from 3; set from 17; requeue from to 1 3 = 3;"
	  "set from 0; gone 1; all to = 2" },
	{ "any word at the target",
	  "wait from; set to 17; requeue from to 0 1 = 1; set to 0;"
	  "all to = 1" },
	{ "moved whatever the bitset, woken by it",
	  "bits from 1; bits from 2; bits from 4; bits from 8;"
	  "requeue from to 0 max = 4; wake_bits to 16 = 0; wake_bits to 4 = 1;"
	  "gone 1; turn 0 = 2; wake_bits to 9 = 2; gone 3; all to = 1" },
	{ "to itself: one woken, the others counted",
	  "wait from 4; requeue from from 1 2 = 3; gone 1; all from = 3" },
	{ "not met by a requeue of the other kind",
	  "wait from; requeue_other from to 1 1 = 0; all from = 1" },
	{ "of the same kind afterwards",
	  "wait from; requeue from to 0 1; one_other to = 0; all to = 1" },
	{ "negative counts are refused",
	  "wait from 2; requeue from to -1 0 = -EINVAL;"
	  "requeue from to 0 -1 = -EINVAL; requeue from to -1 -1 = -EINVAL;"
	  "requeue from to -2147483648 1 = -EINVAL;"
	  "requeue from to 1 -2147483648 = -EINVAL;"
	  "requeue from to max -1 = -EINVAL; requeue from to -1 max = -EINVAL;"
	  "all from = 2" },
};

static struct memory {
	const char *name;
	int flags; /* of the futex */
	uint32_t *futexes, *aliases;
} memories[] = {
	{ "private", FUTEX_PRIVATE_FLAG, own_words, own_words },
	{ "shared, own memory", 0, own_words, own_words },
	{ .name = "shared, anonymous memory" },
	{ .name = "shared, file mapped twice" },
};

static uint32_t *map(int mmap_flags, int fd)
{
	void *at = mmap(NULL, WORDS_SIZE, PROT_READ | PROT_WRITE, mmap_flags,
			fd, 0);

	if (at == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return at;
}

static void map_memories(void)
{
	int fd = memfd_create("futex words", 0);

	if (fd < 0 || ftruncate(fd, WORDS_SIZE))
		tap_bail("memfd: %s", strerror(errno));
	memories[2].futexes = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	memories[2].aliases = memories[2].futexes;
	memories[3].futexes = map(MAP_SHARED, fd);
	memories[3].aliases = map(MAP_SHARED, fd);
	close(fd);
}

static bool scene_holds(const struct scene *scene)
{
	if (steps_hold(scene->steps))
		return true;
	tap_diag("so: %s", scene->name);
	return false;
}

/* nr_wake are woken, then nr_requeue moved; the answer is their sum. */
static bool counts_hold(int nr_wake, int nr_requeue)
{
	const int woken = nr_wake < NR_COUNTED ? nr_wake : NR_COUNTED;
	const int left = NR_COUNTED - woken;
	const int moved = nr_requeue < left ? nr_requeue : left;
	char steps[STEPS_LENGTH];

	snprintf(steps, sizeof(steps),
		 "wait from %d; requeue from to %d %d = %d; gone %d;"
		 "all to = %d; all from = %d",
		 NR_COUNTED, nr_wake, nr_requeue, woken + moved, woken, moved,
		 left - moved);
	return steps_hold(steps);
}

static bool all_counts_hold(void)
{
	static const int counts[] = { 0, 1, 2, NR_COUNTED, INT_MAX };
	bool ok = true;

	for (int wake = 0; wake < 5; wake++)
		for (int move = 0; move < 5; move++)
			ok = counts_hold(counts[wake], counts[move]) && ok;
	return ok;
}

static void test_op(const struct requeue_op *which)
{
	op = which;
	for (int i = 0; i < NR_OF(memories); i++) {
		flags = memories[i].flags;
		futexes = memories[i].futexes;
		aliases = memories[i].aliases;
		for (int n = 0; n < NR_OF(scenes); n++)
			tap_ok(scene_holds(&scenes[n]), "%s, %s: %s", op->name,
			       memories[i].name, scenes[n].name);
		tap_ok(all_counts_hold(), "%s, %s: counts", op->name,
		       memories[i].name);
	}
}

int main(void)
{
	map_memories();
	return requeue_main(test_op, NR_OF(memories) * (NR_OF(scenes) + 1));
}
