// SPDX-License-Identifier: GPL-2.0-only
/*
 * requeue-tail.c - how long a requeue of many waiters takes, and for how long
 * it delays other threads
 *
 * usage: requeue-tail WAITERS ROUNDS [SLICE]
 *
 * One thread moves WAITERS threads to another bucket and back, ROUNDS times, in
 * one call, or in calls that move SLICE threads each, as the library does. In
 * what follows, a requeue is all of these calls.
 *
 * A bystander calls FUTEX_WAIT with a value that the word does not have, as
 * perf bench futex hash does: that takes the lock of the bucket, and does no
 * more. Its word is in the bucket that the waiters leave. The longest of its
 * calls that began or ended during a requeue is the delay by this requeue
 * ("held_up"); its other calls are counted separately ("between").
 *
 * The program prints nanoseconds: for each kind of call the median, 99 of 100,
 * 999 of 1000 and the longest, and how many took less than each power of two.
 * It needs at least two CPUs, because with one the bystander does not run
 * during a requeue.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "bench.h"

#ifndef PR_FUTEX_HASH
#define PR_FUTEX_HASH		78
#define PR_FUTEX_HASH_SET_SLOTS 1
#endif

#define NR_WORDS    1024 /* a page */
#define NR_SLOTS    16
#define PAUSE_US    500
#define NR_BINS	    33
#define MAX_SAMPLES (1 << 21)

struct samples {
	const char *name;
	long nr;
	uint32_t *ns;
};

static uint32_t words[NR_WORDS] __attribute__((aligned(4096))), from;
static struct samples calls = { .name = "requeue" };
static struct samples held_up = { .name = "held_up" };
static struct samples between = { .name = "between" };
static long slice = INT_MAX;
static unsigned long nr_steps; /* odd while a requeue is under way */
static uint32_t *longest;      /* the longest delay by each requeue */
static bool stop;

static void sample(struct samples *s, long long ns)
{
	if (s->nr < MAX_SAMPLES)
		s->ns[s->nr++] = ns < UINT32_MAX ? ns : UINT32_MAX;
}

/*
 * A requeue of a futex onto itself moves no waiter, and returns their number.
 */
static void wait_queued(uint32_t *word, long nr)
{
	while (futex(word, FUTEX_REQUEUE, 0, INT_MAX, word) != nr)
		sched_yield();
}

static void *wait_one(void *word)
{
	futex(word, FUTEX_WAIT, 0, 0, NULL);
	return NULL;
}

static uint32_t rotate(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

/* The kernel's hash of a private futex: jhash2() of its page and its offset */
static uint32_t bucket_of(uint32_t *word)
{
	uint32_t offset = (uintptr_t)word % 4096;
	uint64_t page = (uintptr_t)word - offset;
	uint32_t c = 0xdeadbeef + 8 + offset;
	uint32_t a = c + (uint32_t)page, b = c + (uint32_t)(page >> 32);

	c = (c ^ b) - rotate(b, 14);
	a = (a ^ c) - rotate(c, 11);
	b = (b ^ a) - rotate(a, 25);
	c = (c ^ b) - rotate(b, 16);
	a = (a ^ c) - rotate(c, 4);
	b = (b ^ a) - rotate(a, 14);
	c = (c ^ b) - rotate(b, 24);
	return c % NR_SLOTS;
}

/* Return: the first word that is in the bucket of @word, or not in it */
static uint32_t *find(uint32_t *word, bool near)
{
	uint32_t *found = words;

	while ((bucket_of(found) == bucket_of(word)) != near)
		found++;
	return found;
}

static void *bystander(void *word)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned long first, last;
		long long ns = now();

		first = __atomic_load_n(&nr_steps, __ATOMIC_ACQUIRE);
		futex(word, FUTEX_WAIT, 1, 0, NULL);
		last = __atomic_load_n(&nr_steps, __ATOMIC_ACQUIRE);
		ns = now() - ns;
		if (first == last && first % 2 == 0)
			sample(&between, ns);
		for (unsigned long i = first / 2; i < (last + 1) / 2; i++)
			if (ns > longest[i])
				longest[i] = ns;
	}
	return NULL;
}

static void move(uint32_t *a, uint32_t *b, long nr, struct samples *s)
{
	long long before, after;
	long moved = 0, now_moved;

	__atomic_add_fetch(&nr_steps, 1, __ATOMIC_RELEASE);
	before = now();
	do {
		now_moved = futex(a, FUTEX_REQUEUE, 0, slice, b);
		moved += now_moved;
	} while (moved < nr && now_moved > 0);
	after = now();
	__atomic_add_fetch(&nr_steps, 1, __ATOMIC_RELEASE);
	if (moved != nr)
		die("FUTEX_REQUEUE did not move all", errno);
	sample(s, after - before);
	usleep(PAUSE_US);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void report(struct samples *s)
{
	static const int parts[] = { 500, 990, 999 };
	long below = 0;

	if (!s->nr)
		die(s->name, ENODATA);
	qsort(s->ns, s->nr, sizeof(*s->ns), compare);
	printf("%s_calls\t%ld\n", s->name, s->nr);
	for (int i = 0; i < 3; i++)
		printf("%s_p%d\t%u\n", s->name, parts[i],
		       s->ns[s->nr * parts[i] / 1000]);
	printf("%s_max\t%u\n", s->name, s->ns[s->nr - 1]);
	for (int bin = 0; bin < NR_BINS && below < s->nr; bin++) {
		long start = below;

		while (below < s->nr && s->ns[below] < 1ULL << bin)
			below++;
		if (below > start)
			printf("%s_below_2^%d\t%ld\n", s->name, bin,
			       below - start);
	}
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0;
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	struct samples *all[] = { &calls, &held_up, &between };
	uint32_t *near, *to;
	pthread_t thread;

	if (argc > 3)
		slice = atol(argv[3]);
	if (nr < 1 || rounds < 1 || slice < 1)
		die("usage: requeue-tail WAITERS ROUNDS [SLICE]", EINVAL);
	for (int i = 0; i < 3; i++) {
		all[i]->ns = malloc(MAX_SAMPLES * sizeof(uint32_t));
		if (!all[i]->ns)
			die("malloc", errno);
	}
	longest = calloc(2 * rounds, sizeof(*longest));
	if (!longest)
		die("calloc", errno);
	if (prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, NR_SLOTS, 0))
		die("PR_FUTEX_HASH", errno);
	near = find(&from, true);
	to = find(&from, false);
	for (long i = 0; i < nr; i++)
		start_thread(wait_one, &from);
	wait_queued(&from, nr);
	thread = start_thread(bystander, near);
	for (long i = 0; i < rounds; i++) {
		move(&from, to, nr, &calls);
		move(to, &from, nr, &calls);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	futex(&from, FUTEX_WAKE, INT_MAX, 0, NULL);
	for (long i = 0; i < 2 * rounds; i++)
		if (longest[i])
			sample(&held_up, longest[i]);
	for (int i = 0; i < 3; i++)
		report(all[i]);
	return 0;
}
