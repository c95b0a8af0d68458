// SPDX-License-Identifier: GPL-2.0-only
/*
 * requeue-cost.c - what a requeue costs for each waiter, for each bystander in
 * the bucket, and as a whole call
 *
 * usage: requeue-cost WAITERS
 *
 * The program times FUTEX_REQUEUE with WAITERS and with twice as many sleeping
 * threads, and prints the difference divided by WAITERS. So the part that does
 * not depend on the number of waiters drops out. In a guest whose clock counts
 * instructions (qemu -icount shift=0) the unit is instructions, elsewhere
 * nanoseconds.
 *
 * User space cannot compute the bucket of a futex, but can find out from the
 * cost which futexes share one: a call on a futex without waiters still passes
 * all waiters in its bucket.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "bench.h"

#define NR_WORDS 1024 /* a page */
#define NR_RUNS	 31
#define NR_APART 5
#define NR_PRIOS 90

/* All are 0, and in one page, so that their keys only differ in the offset. */
static uint32_t words[NR_WORDS] __attribute__((aligned(4096)));

static void *waiter(void *prio)
{
	struct sched_param sp = { .sched_priority = (intptr_t)prio };
	int error;

	if (sp.sched_priority) {
		error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &sp);
		if (error)
			die("SCHED_FIFO, which needs root", error);
	}
	futex(&words[0], FUTEX_WAIT, 0, 0, NULL);
	return NULL;
}

/* The time of a call for up to @max waiters, which has to move @nr. */
static long long time_call(uint32_t *from, uint32_t *to, long max, long nr)
{
	long long start = now();
	long ret = futex(from, FUTEX_REQUEUE, 0, max, to);
	long long end = now();

	if (ret != nr)
		die("a requeue moved another number of waiters",
		    ret < 0 ? errno : EPROTO);
	return end - start;
}

/* The time of a call for all waiters. */
static long long time_requeue(uint32_t *from, uint32_t *to, long nr)
{
	return time_call(from, to, INT_MAX, nr);
}

/* Start @nr threads and gather them on words[1] once they sleep. */
static pthread_t *start(long nr, int nr_prios)
{
	pthread_t *threads = calloc(nr, sizeof(*threads));
	intptr_t prio;

	for (long i = 0; i < nr; i++) {
		prio = nr_prios ? 1 + i % nr_prios : 0;
		threads[i] = start_thread(waiter, (void *)prio);
	}
	gather(&words[0], &words[1], nr);
	return threads;
}

struct cost {
	long long other;   /* move all to another bucket */
	long long same;	   /* move all within the bucket */
	long long passing; /* move none, and pass all */
	long long apart;   /* move every other one to another bucket */
};

/* A futex on which all wait, and one without waiters in the same bucket. */
struct place {
	uint32_t *all;
	uint32_t *none;
};

static void swap(struct place *place)
{
	uint32_t *all = place->all;

	place->all = place->none;
	place->none = all;
}

/*
 * Return: a futex in the bucket of all @nr waiters, which is found by the time
 * that a call takes to pass them. No thread waits on words[64] or behind.
 */
static uint32_t *find_neighbour(long nr)
{
	long long t[NR_RUNS], limit;

	for (int i = 0; i < NR_RUNS; i++)
		t[i] = time_requeue(&words[64 + i], &words[2], 0);
	limit = median(t, NR_RUNS) + 3 * nr;
	for (uint32_t *w = &words[128]; w < words + NR_WORDS; w++) {
		/* Twice, because it may have been an interrupt. */
		if (time_requeue(w, &words[2], 0) > limit &&
		    time_requeue(w, &words[2], 0) > limit)
			return w;
	}
	return NULL;
}

/*
 * Move all to other futexes in turn. Return: the futex on which they wait then.
 */
static uint32_t *measure_other(struct cost *cost, uint32_t *from, long nr)
{
	long long t[NR_RUNS];
	uint32_t *to;

	for (int i = 0; i < NR_RUNS; i++) {
		to = &words[2 + i];
		t[i] = time_requeue(from, to, nr);
		from = to;
	}
	cost->other = median(t, NR_RUNS);
	return from;
}

/* Move all until they wait on a futex that shares its bucket with another. */
static struct place find_place(uint32_t *from, long nr)
{
	struct place place = { from, find_neighbour(nr) };

	for (int i = 0; !place.none && i < NR_RUNS; i++) {
		time_requeue(place.all, &words[2 + i], nr);
		place.all = &words[2 + i];
		place.none = find_neighbour(nr);
	}
	if (!place.none)
		die("no two futexes share a bucket", ENOENT);
	return place;
}

/* Move all back and forth within the bucket, and time calls that pass them. */
static void measure_same(struct cost *cost, struct place *place, long nr)
{
	long long same[NR_RUNS], passing[NR_RUNS];

	for (int i = 0; i < NR_RUNS; i++) {
		same[i] = time_requeue(place->all, place->none, nr);
		passing[i] = time_requeue(place->all, &words[1], 0);
		swap(place);
	}
	cost->same = median(same, NR_RUNS);
	cost->passing = median(passing, NR_RUNS);
}

/*
 * Move every other one, past a bystander for each. They were moved one by one
 * before, so they are queued in that order.
 */
static void measure_apart(struct cost *cost, struct place *place, long nr)
{
	long long t[NR_APART];
	uint32_t *to;

	for (int i = 0; i < NR_APART; i++) {
		to = &words[2 + i];
		time_requeue(place->all, to, nr);
		for (long left = nr; left; left--)
			time_call(to, left % 2 ? place->none : place->all, 1,
				  1);
		t[i] = time_requeue(place->all, to, nr / 2);
		time_requeue(to, place->all, nr / 2);
		time_requeue(place->none, place->all, nr - nr / 2);
	}
	cost->apart = median(t, NR_APART);
}

static struct cost measure(long nr, int nr_prios)
{
	pthread_t *threads = start(nr, nr_prios);
	struct place place;
	struct cost cost;

	place = find_place(measure_other(&cost, &words[1], nr), nr);
	measure_same(&cost, &place, nr);
	measure_apart(&cost, &place, nr);
	finish(threads, nr, place.all);
	free(threads);
	return cost;
}

/* The time of a call for a few waiters, whose bystanders do not matter. */
static long long measure_call(long nr)
{
	pthread_t *threads = start(nr, 0);
	struct cost cost;

	finish(threads, nr, measure_other(&cost, &words[1], nr));
	free(threads);
	return cost.other;
}

int main(int argc, char **argv)
{
	long nr = argc == 2 ? strtol(argv[1], NULL, 0) : 0;
	struct cost one, two;

	if (nr < 10 || nr > 100000) {
		fprintf(stderr, "usage: requeue-cost WAITERS (10 to 100000)\n");
		return 2;
	}
	one = measure(nr, 0);
	two = measure(2 * nr, 0);
#define SLOPE(what) ((double)(two.what - one.what) / nr)
	printf("other_bucket\t%.1f\n", SLOPE(other));
	printf("same_bucket\t%.1f\n", SLOPE(same));
	printf("bystander\t%.1f\n", SLOPE(passing));
	/* Half of the threads are waiters, the others bystanders. */
	printf("waiter_and_bystander\t%.1f\n", 2 * SLOPE(apart));
	printf("whole_call_10\t%lld\n", measure_call(10));
	printf("whole_call_1\t%lld\n", measure_call(1));
	printf("whole_call_0\t%lld\n", measure_call(0));

	if (geteuid())
		return 0;
	/*
	 * Above all waiters, which would otherwise run during the measurement.
	 */
	if (sched_setscheduler(0, SCHED_FIFO,
			       &(struct sched_param){ .sched_priority =
							      NR_PRIOS + 1 }))
		die("SCHED_FIFO", errno);
	one = measure(nr, NR_PRIOS);
	two = measure(2 * nr, NR_PRIOS);
	printf("%d_priorities\t%.1f\n", NR_PRIOS, SLOPE(other));
	return 0;
}
