// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time per waiter of both movers on a real CPU, with cold caches.
 *
 * Every waiter's entry is on a page of its own, like those on kernel stacks,
 * at the same place in each page, queued in random order. Before each call all
 * entries are flushed from all caches. The time of a call with NR waiters is
 * taken from one with twice as many, so what a call costs in any case drops
 * out. The movers take turns. Medians of CPU time, so that a loaded machine
 * matters little.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#include <linux/plist.h>

#include "futex.h"

#define NR	1000
#define NR_RUNS 101
#define LINE	64

/* Where in its page an entry begins: its first cache line may be shared. */
static const unsigned int offsets[] = { 0, 16, 32, 48 };
#define NR_OFFSETS (sizeof(offsets) / sizeof(offsets[0]))

int futex_requeue_mainline(u32 *uaddr1, unsigned int flags1, u32 *uaddr2,
			   unsigned int flags2, int nr_wake, int nr_requeue,
			   u32 *cmpval, int requeue_pi);

static struct futex_hash_bucket buckets[2];
static u32 words[2];
static char *pages;
static struct futex_q *entries[2 * NR];

/* Each futex has a bucket of its own. */
struct futex_hash_bucket *futex_hash(union futex_key *key)
{
	return &buckets[(u32 *)key->both.word - words];
}

static int move_drover(int from)
{
	return futex_requeue(&words[from], FLAGS_SIZE_32, &words[!from],
			     FLAGS_SIZE_32, 0, INT_MAX, &words[from]);
}

static int move_mainline(int from)
{
	return futex_requeue_mainline(&words[from], FLAGS_SIZE_32,
				      &words[!from], FLAGS_SIZE_32, 0, INT_MAX,
				      &words[from], 0);
}

static int (*const movers[2])(int from) = { move_mainline, move_drover };

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void shuffle(int *order, int nr)
{
	for (int i = nr - 1; i > 0; i--) {
		int j = random() % (i + 1), old = order[i];

		order[i] = order[j];
		order[j] = old;
	}
}

/* Queue @nr entries on the first futex. */
static void queue(int nr, unsigned int offset)
{
	static int order[2 * NR];
	struct futex_q *q;

	for (int i = 0; i < 2 * NR; i++)
		order[i] = i;
	shuffle(order, 2 * NR);
	for (int i = 0; i < 2; i++) {
		plist_head_init(&buckets[i].chain);
		atomic_set(&buckets[i].waiters, i ? 0 : nr);
	}
	for (int i = 0; i < nr; i++) {
		q = (void *)(pages + order[i] * PAGE_SIZE + 2048 + offset);
		memset(q, 0, sizeof(*q));
		plist_node_init(&q->list, 120);
		q->lock_ptr = &buckets[0].lock;
		get_futex_key(&words[0], FLAGS_SIZE_32, &q->key, FUTEX_READ);
		plist_add(&q->list, &buckets[0].chain);
		entries[i] = q;
	}
}

static void flush(int nr)
{
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < sizeof(struct futex_q) + LINE;
		     at += LINE)
			_mm_clflush((char *)entries[i] + at);
	_mm_mfence();
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, NR_RUNS, sizeof(*v), compare);
	return v[NR_RUNS / 2];
}

/* The median time of a call that moves @nr waiters, for each mover. */
static void time_calls(int nr, unsigned int offset, bool cold, double *times)
{
	double t[2][NR_RUNS], start;
	int from = 0;

	queue(nr, offset);
	for (int run = 0; run < NR_RUNS; run++) {
		for (int i = 0; i < 2; i++) {
			int mover = (run + i) % 2;

			if (cold)
				flush(nr);
			start = now();
			if (movers[mover](from) != nr)
				abort();
			t[mover][run] = now() - start;
			from = !from;
		}
	}
	for (int mover = 0; mover < 2; mover++)
		times[mover] = median(t[mover]);
}

static double measure(unsigned int offset, bool cold)
{
	double one[2], two[2], per[2];

	time_calls(NR, offset, cold, one);
	time_calls(2 * NR, offset, cold, two);
	for (int mover = 0; mover < 2; mover++)
		per[mover] = (two[mover] - one[mover]) / NR;
	printf("%s\t%u\t%.1f\t%.1f\t%.2f\n", cold ? "cold" : "warm", offset,
	       per[0], per[1], per[1] / per[0]);
	return per[1] / per[0];
}

int main(void)
{
	double sum = 0;

	pages = mmap(NULL, 2L * NR * PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	madvise(pages, 2L * NR * PAGE_SIZE, MADV_NOHUGEPAGE);
	printf("caches\toffset\tmainline\tdrover\tratio\n");
	for (size_t i = 0; i < NR_OFFSETS; i++)
		measure(offsets[i], false);
	for (size_t i = 0; i < NR_OFFSETS; i++)
		sum += measure(offsets[i], true);
	printf("ns a waiter; cold, on average: %.2f of mainline's time\n",
	       sum / NR_OFFSETS);
	return 0;
}
