// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do queues that move as a whole do what mainline's requeue does?
 *
 * usage: agree-turnstile [CALLS [SEED]]
 *
 * Random calls in two worlds of waiters: waits, ends of waits, wakeups,
 * requeues and resizes of the hash. After each the answers and the waiters of
 * each futex, in their order, have to be the same.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worlds.h"

#define NR_CALLS 200 /* in each pair of worlds */

static const struct world *const worlds[2] = { &mainline_world,
					       &turnstile_world };
static long nr_moved, nr_failed;
static int nr_prios, one_strange_in;

static int below(int n)
{
	return random() % n;
}

static int waits(int i)
{
	int who[NR_WAITERS];

	for (int word = 0; word < NR_WORDS; word++)
		for (int nr = mainline_world.queue(word, who); nr--;)
			if (who[nr] == i)
				return 1;
	return 0;
}

static const char *one_wait(void)
{
	int i = below(NR_WAITERS), word = below(NR_WORDS);
	int prio = 10 * below(nr_prios);
	int kind = below(one_strange_in) == 1 ? below(NR_KINDS) : PLAIN;

	if (!waits(i))
		for (int w = 0; w < 2; w++)
			worlds[w]->wait(i, word, prio, kind);
	return NULL;
}

static const char *one_end(void)
{
	int i = below(NR_WAITERS);

	return worlds[0]->leave(i) == worlds[1]->leave(i) ? NULL : "an end";
}

static const char *one_wake(void)
{
	int word = below(NR_WORDS), nr = below(4);

	return worlds[0]->wake(word, nr) == worlds[1]->wake(word, nr) ?
		       NULL :
		       "the answer of a wake";
}

static const char *one_requeue(void)
{
	int from = below(NR_WORDS), to = below(NR_WORDS);
	int nr_wake = below(3) ? 0 : below(4);
	int nr_requeue = below(3) ? INT_MAX : below(NR_WAITERS / 4);
	int ret[2];

	for (int w = 0; w < 2; w++)
		ret[w] = worlds[w]->requeue(from, to, nr_wake, nr_requeue);
	nr_moved += ret[0] > nr_wake;
	nr_failed += ret[0] < 0;
	return ret[0] == ret[1] ? NULL : "the answer of a requeue";
}

static const char *one_resize(void)
{
	int nr = 1 + below(NR_PRIVATE);

	for (int w = 0; w < 2; w++)
		worlds[w]->resize(nr);
	return NULL;
}

static const char *one_call(void)
{
	int what = below(20);

	if (what < 9)
		return one_wait();
	if (what < 12)
		return one_end();
	if (what < 14)
		return one_wake();
	if (what < 19)
		return one_requeue();
	return one_resize();
}

static const char *difference(void)
{
	int who[2][NR_WAITERS], nr[2];
	const char *what = NULL;

	for (int word = 0; word < NR_WORDS; word++) {
		for (int w = 0; w < 2; w++)
			nr[w] = worlds[w]->queue(word, who[w]);
		if (nr[0] != nr[1])
			return "the number of waiters";
		if (memcmp(who[0], who[1], nr[0] * sizeof(who[0][0])))
			return "the order";
	}
	for (int w = 0; w < 2 && !what; w++)
		what = worlds[w]->wrong();
	return what;
}

static void begin(void)
{
	int nr_buckets = 1 + below(NR_PRIVATE);

	nr_prios = 1 + below(2) * below(5);
	one_strange_in = 1 + below(2) * below(20);
	for (int w = 0; w < 2; w++)
		worlds[w]->empty(nr_buckets);
}

int main(int argc, char **argv)
{
	long nr_calls = argc > 1 ? atol(argv[1]) : 1000000;
	unsigned int seed = argc > 2 ? atol(argv[2]) : 1;
	const char *what;

	srandom(seed);
	for (long i = 0; i < nr_calls; i++) {
		if (i % NR_CALLS == 0)
			begin();
		what = one_call();
		if (!what)
			what = difference();
		if (what) {
			fprintf(stderr,
				"agree-turnstile %ld %u: the worlds differ in %s\n",
				i + 1, seed, what);
			return 1;
		}
	}
	printf("%ld calls, of which %ld requeued waiters and %ld failed: no difference\n",
	       nr_calls, nr_moved, nr_failed);
	return nr_moved < nr_calls / 20 || nr_failed < nr_calls / 1000;
}
