// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves within one hash bucket of the kernel and between two take different
 * paths. User space cannot compute the hash: drive a sleepers over so many
 * futexes that some neighbours share a bucket (with B buckets one pair in B
 * does, and there are 256 for each possible CPU, less with a private hash).
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS    4
#define NR_BYSTANDERS 8

static uint32_t *words;
static int nr_words;

/* Moves the sleepers from word to word; counts the moves that missed some. */
static void drive(const struct requeue_op *op, int flags, long *nr_wrong)
{
	for (int i = 0; i + 1 < nr_words; i++) {
		long moved = op->requeue(&words[i], &words[i + 1], flags, 0,
					 NR_WAITERS);

		if (moved != NR_WAITERS)
			++*nr_wrong;
	}
}

static bool all_in_order(struct sleepers *sleepers, int flags)
{
	for (int i = 0; i < NR_WAITERS; i++)
		if (sleepers_wake_one(sleepers, &words[nr_words - 1], flags) !=
		    i)
			return false;
	return true;
}

/* Bystanders sleep in the same buckets as some of the words. */
static void start_bystanders(struct sleepers *sleepers, const uint32_t *own,
			     int flags)
{
	for (int i = 0; i < NR_BYSTANDERS; i++)
		sleepers_wait_on(sleepers, &own[i], flags);
}

static void test_sweep(const struct requeue_op *op, int flags, const char *kind)
{
	static uint32_t own[NR_BYSTANDERS];
	struct sleepers sleepers = sleepers_of(NR_WAITERS),
			bystanders = sleepers_of(NR_BYSTANDERS);
	long nr_wrong = 0;

	start_bystanders(&bystanders, own, flags);
	sleepers_fill(&sleepers, NR_WAITERS, &words[0], flags);
	drive(op, flags, &nr_wrong);
	tap_is(nr_wrong, 0, "%s, %s: %d moves of all", op->name, kind,
	       nr_words - 1);
	tap_ok(all_in_order(&sleepers, flags), "%s, %s: all came, in order",
	       op->name, kind);
	sleepers_end(&sleepers);

	tap_is(atomic_load(&bystanders.nr_returned), 0,
	       "%s, %s: no bystander was woken", op->name, kind);
	for (int i = 0; i < NR_BYSTANDERS; i++)
		sleepers_wake_all(&bystanders, &own[i], flags);
	sleepers_end(&bystanders);
}

static void test_op(const struct requeue_op *op)
{
	test_sweep(op, FUTEX_PRIVATE_FLAG, "private");
	test_sweep(op, 0, "shared");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "words");

	nr_words = args_get(&args, "words", 16384);
	words = calloc(nr_words, sizeof(*words));
	if (nr_words < 2 || !words)
		tap_bail("words=%d: too few, or no memory", nr_words);
	return requeue_main(test_op, 6);
}
