// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a requeue of all waiters costs, to a futex without waiters and to one
 * with a waiter; a wait and its wakeup, alone and among futexes with a waiter
 * each; and a wakeup that finds nobody among the waiters of another futex.
 *
 * usage: requeue-whole WAITERS...
 *
 * In a guest whose clock counts instructions (qemu -icount shift=0) the unit is
 * instructions, elsewhere nanoseconds.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "bench.h"

#ifndef PR_FUTEX_HASH
#define PR_FUTEX_HASH		78
#define PR_FUTEX_HASH_SET_SLOTS 1
#endif

#define NR_RUNS	      9
#define NR_PAIRS      2000
#define NR_BYSTANDERS 1000

static uint32_t words[1024] __attribute__((aligned(4096)));

static void *waiter(void *unused)
{
	(void)unused;
	futex(&words[0], FUTEX_WAIT, 0, 0, NULL);
	return NULL;
}

/* Start @nr threads, and gather them on @word once they sleep. */
static void start(pthread_t *threads, long nr, uint32_t *word)
{
	for (long i = 0; i < nr; i++)
		threads[i] = start_thread(waiter, NULL);
	gather(&words[0], word, nr);
}

static long long time_requeue(uint32_t *from, uint32_t *to, long nr)
{
	long long begin = now();
	long moved = futex(from, FUTEX_REQUEUE, 0, INT_MAX, to);
	long long end = now();

	if (moved != nr)
		die("a requeue moved another number of waiters", EPROTO);
	return end - begin;
}

static void measure_requeue(long nr)
{
	pthread_t *threads = calloc(nr + NR_RUNS, sizeof(*threads));
	long long empty[NR_RUNS], joined[NR_RUNS];
	uint32_t *from = &words[1];

	start(threads, nr, from);
	for (int i = 0; i < NR_RUNS; i++) {
		empty[i] = time_requeue(from, &words[2 + i], nr);
		from = &words[2 + i];
	}
	/* One waits on each of the next futexes. */
	for (int i = 0; i < NR_RUNS; i++)
		start(&threads[nr + i], 1, &words[100 + i]);
	for (int i = 0; i < NR_RUNS; i++) {
		joined[i] = time_requeue(from, &words[100 + i], nr + i);
		from = &words[100 + i];
	}
	finish(threads, nr + NR_RUNS, from);
	free(threads);
	printf("to_empty_%ld\t%lld\n", nr, median(empty, NR_RUNS));
	printf("to_waiter_%ld\t%lld\n", nr, median(joined, NR_RUNS));
}

/* Each waits until the other one has woken it. */
static void *pong(void *unused)
{
	(void)unused;
	for (int i = 0; i < NR_PAIRS; i++) {
		while (!__atomic_exchange_n(&words[1], 0, __ATOMIC_SEQ_CST))
			futex(&words[1], FUTEX_WAIT, 0, 0, NULL);
		__atomic_store_n(&words[2], 1, __ATOMIC_SEQ_CST);
		futex(&words[2], FUTEX_WAKE, 1, 0, NULL);
	}
	return NULL;
}

static void measure_pair(const char *name)
{
	pthread_t thread = start_thread(pong, NULL);
	long long begin = now();

	for (int i = 0; i < NR_PAIRS; i++) {
		__atomic_store_n(&words[1], 1, __ATOMIC_SEQ_CST);
		futex(&words[1], FUTEX_WAKE, 1, 0, NULL);
		while (!__atomic_exchange_n(&words[2], 0, __ATOMIC_SEQ_CST))
			futex(&words[2], FUTEX_WAIT, 0, 0, NULL);
	}
	pthread_join(thread, NULL);
	printf("%s\t%lld\n", name, (now() - begin) / (2 * NR_PAIRS));
}

/* In two buckets, a thousand futexes and the two of the pair */
static void measure_neighbours(void)
{
	pthread_t threads[NR_BYSTANDERS];

	for (int i = 0; i < NR_BYSTANDERS; i++)
		start(&threads[i], 1, &words[10 + i]);
	measure_pair("wait_and_wake_among");
	for (int i = 0; i < NR_BYSTANDERS; i++)
		finish(&threads[i], 1, &words[10 + i]);
}

/* Of two buckets, that of the bystanders is the one where it takes longer. */
static void measure_bystanders(void)
{
	pthread_t threads[NR_BYSTANDERS];
	long long most = 0, t[NR_RUNS], begin;

	if (prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, 2, 0))
		die("PR_FUTEX_HASH", errno);
	start(threads, NR_BYSTANDERS, &words[1]);
	for (int w = 10; w < 26; w++) {
		for (int i = 0; i < NR_RUNS; i++) {
			begin = now();
			futex(&words[w], FUTEX_WAKE, 1, 0, NULL);
			t[i] = now() - begin;
		}
		if (median(t, NR_RUNS) > most)
			most = t[NR_RUNS / 2];
	}
	finish(threads, NR_BYSTANDERS, &words[1]);
	printf("among_%d\t%lld\n", NR_BYSTANDERS, most);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: requeue-whole WAITERS...\n");
		return 2;
	}
	measure_pair("wait_and_wake");
	for (int i = 1; i < argc; i++)
		measure_requeue(atol(argv[i]));
	measure_bystanders();
	measure_neighbours();
	return 0;
}
