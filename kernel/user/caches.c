// SPDX-License-Identifier: GPL-2.0-only
/*
 * caches.c - what a requeue costs on a CPU with caches
 *
 * usage: requeue-caches [RUNS [MOST]]
 *
 * Both movers are compiled for user space from the kernel's files, with real
 * locked operations. Before each call all waiters are queued again,
 *
 *   own      by the CPU that requeues them,
 *   other    by another CPU, as if the threads went to sleep there,
 *   evicted  by this CPU, and then evicted from all caches,
 *
 * in pages of 4 KB, as CONFIG_VMAP_STACK maps stacks, or of 2 MB. The movers
 * take turns. The columns "chase" and "both" are the limits of a mover that can
 * find a waiter only from its neighbour: they follow the list from one end or
 * from both, and write a word to each of the two lines of a waiter that a move
 * writes.
 *
 * The program prints nanoseconds for each waiter, or for the call if there is
 * no waiter: the medians of RUNS, each with memory and an order of its own; and
 * the median, the least and the largest of the ratios of the two movers in each
 * run. The median of the ratios need not be the ratio of the medians.
 */
#include <stdio.h>
#include <time.h>

#include "sets.h"

#define NR_ROUNDS 48 /* a multiple of twice the number of ways */
#define MAX_RUNS  31

int futex_requeue_mainline(u32 *uaddr1, unsigned int flags1, u32 *uaddr2,
			   unsigned int flags2, int nr_wake, int nr_requeue,
			   u32 *cmpval, int requeue_pi,
			   const struct futex_mark *mark);

static const char *const states[NR_STATES] = { "own", "other", "evicted" };
static const char *const shapes[NR_SHAPES] = { "", "same bucket", "1 bystander",
					       "each 2nd one",
					       "90 priorities" };

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int move_mainline(struct set *set)
{
	u32 *word = words[set - sets];

	return futex_requeue_mainline(&word[0], 0, &word[1], 0, 0, INT_MAX,
				      NULL, 0, NULL);
}

static int move_series(struct set *set)
{
	u32 *word = words[set - sets];

	return futex_requeue(&word[0], 0, &word[1], 0, 0, INT_MAX, NULL, 0,
			     NULL);
}

/* Write both lines of a waiter that a move writes; of a bystander, too. */
static void touch(struct list_head *node)
{
	struct futex_q *q = list_entry(node, struct futex_q, list.node_list);

	WRITE_ONCE(q->lock_ptr, q->lock_ptr);
	WRITE_ONCE(q->key.both.node, FUTEX_NO_NODE);
}

static int chase_one(struct set *set)
{
	struct list_head *head = &set->from.chain.node_list, *pos;
	int nr = 0;

	for (pos = head->next; pos != head; pos = pos->next, nr++)
		touch(pos);
	return nr;
}

static int chase_both(struct set *set)
{
	struct list_head *head = &set->from.chain.node_list;
	struct list_head *pos = head->next, *end = head->prev;
	int nr = 0;

	while (pos != head) {
		touch(pos);
		nr++;
		if (pos == end)
			break;
		touch(end);
		nr++;
		if (pos->next == end)
			break;
		pos = pos->next;
		end = end->prev;
	}
	return nr;
}

static const struct way {
	const char *name;
	int (*move)(struct set *set);
} ways[] = {
	{ "mainline", move_mainline },
	{ "series", move_series },
	{ "chase", chase_one },
	{ "both", chase_both },
};

#define NR_WAYS ((int)(sizeof(ways) / sizeof(ways[0])))

/* Return: nanoseconds for each waiter, or for the call if there is none */
static double time_way(int way, enum state state)
{
	int nr = nr_moved(), moved = 0;
	long long start, end;

	prepare(state);
	start = now();
	for (int i = 0; i < nr_sets; i++)
		moved += ways[way].move(&sets[i]);
	end = now();
	if (ways[way].move == move_mainline || ways[way].move == move_series)
		WARN_ON(moved != nr * nr_sets);
	return (double)(end - start) / (nr_sets * (nr ? nr : 1));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int nr)
{
	qsort(v, nr, sizeof(*v), compare);
	return v[nr / 2];
}

/*
 * Return: the i-th way of a round. Each way has each place equally often. It
 * also follows each of its two neighbours in the list equally often, because
 * the way that ran before has left its traces in the caches.
 */
static int turn(int round, int i)
{
	int way = (round + i) % NR_WAYS;

	return round / NR_WAYS % 2 ? NR_WAYS - 1 - way : way;
}

static void run(enum state state, double medians[NR_WAYS])
{
	static double ns[NR_WAYS][NR_ROUNDS];

	/* The first round only warms up. */
	for (int round = 0; round <= NR_ROUNDS; round++) {
		for (int i = 0; i < NR_WAYS; i++) {
			int way = turn(round, i);
			double t = time_way(way, state);

			if (round > 0)
				ns[way][round - 1] = t;
		}
	}
	for (int way = 0; way < NR_WAYS; way++)
		medians[way] = median(ns[way], NR_ROUNDS);
}

static void row(int nr, enum shape shape, enum state state, bool huge,
		int nr_runs)
{
	double medians[NR_WAYS][MAX_RUNS], ratios[MAX_RUNS], ns[NR_WAYS];

	for (int i = 0; i < nr_runs; i++) {
		make_sets(nr, shape, huge);
		run(state, ns);
		free_sets();
		ratios[i] = ns[1] / ns[0];
		for (int way = 0; way < NR_WAYS; way++)
			medians[way][i] = ns[way];
	}
	printf("%7d  %-13s %-8s %4s", nr, shapes[shape], states[state],
	       huge ? "2 MB" : "4 KB");
	for (int way = 0; way < NR_WAYS; way++)
		printf(" %9.1f", median(medians[way], nr_runs));
	printf("  %5.2f", median(ratios, nr_runs));
	printf("  %.2f to %.2f\n", ratios[0], ratios[nr_runs - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const int counts[] = { 0, 1, 3, 10, 64, 400, 1000, 10000 };
	int nr_runs = argc > 1 ? atoi(argv[1]) : 5;
	int most = argc > 2 ? atoi(argv[2]) : MOST;
	bool measured[NR_STATES] = { true, true, true };

	if (nr_runs < 1 || nr_runs > MAX_RUNS)
		return 2;
	measured[OTHER] = choose_cpus();
	if (!measured[OTHER])
		printf("There is one CPU, so there are no rows \"other\".\n");
	printf("waiters  %-13s %-8s %4s", "", "cache", "page");
	for (int way = 0; way < NR_WAYS; way++)
		printf(" %9s", ways[way].name);
	printf("  ratio\n");
	for (int huge = 0; huge < 2; huge++)
		for (int state = 0; state < NR_STATES; state++)
			for (int i = 0; i < 8 && counts[i] <= most; i++)
				if (measured[state])
					row(counts[i], PLAIN, state, huge,
					    nr_runs);
	for (int s = SAME_BUCKET; s < NR_SHAPES; s++)
		for (int state = 0; state < NR_STATES; state++)
			if (measured[state])
				row(most < 1000 ? most : 1000, s, state, false,
				    nr_runs);
	return 0;
}
