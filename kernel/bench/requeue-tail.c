// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a requeue of many waiters takes, and how long it holds up others.
 *
 * usage: requeue-tail WAITERS ROUNDS [SLICE]
 *
 * One thread moves WAITERS threads to another bucket and back, ROUNDS times, in
 * one call, or in calls that move SLICE each, as the library does: a requeue in
 * what follows is all of them.
 * A bystander calls FUTEX_WAIT with a value that is not there, as perf bench
 * futex hash does: that takes the lock of the bucket and no more. Its word is
 * in the bucket that the waiters leave. The longest of its calls that began or
 * ended during a requeue is what that requeue held up; the calls between are
 * counted apart.
 *
 * Prints nanoseconds: of each kind the median, 99 of 100, 999 of 1000 and the
 * longest, and how many took less than each power of two. Takes two CPUs at
 * least, or the bystander does not run during a requeue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_WORDS    (1 << 20)
#define NR_BATCH    128 /* FUTEX_WAITV_MAX */
#define STACK	    (32 * 1024)
#define PAUSE_US    500
#define NR_BINS	    33
#define MAX_SAMPLES (1 << 21)

struct batch {
	uint32_t *words;
	int nr;
};

struct samples {
	const char *name;
	long nr;
	uint32_t *ns;
};

static uint32_t words[NR_WORDS], from;
static struct samples calls = { .name = "requeue" };
static struct samples held_up = { .name = "held_up" };
static struct samples between = { .name = "between" };
static int nr_returned, woken_index;
static long slice = INT_MAX;
static unsigned long nr_steps; /* odd while a requeue is under way */
static uint32_t *longest;      /* of each requeue */
static bool stop;

static void die(const char *what, int error)
{
	fprintf(stderr, "requeue-tail: %s: %s\n", what, strerror(error));
	exit(1);
}

static long futex(uint32_t *uaddr, int op, int nr, long nr2, uint32_t *uaddr2)
{
	return syscall(SYS_futex, uaddr, op | FUTEX_PRIVATE_FLAG, nr, nr2,
		       uaddr2, 0);
}

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void sample(struct samples *s, long long ns)
{
	if (s->nr < MAX_SAMPLES)
		s->ns[s->nr++] = ns < UINT32_MAX ? ns : UINT32_MAX;
}

static pthread_t start(void *(*function)(void *), void *argument)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	error = pthread_create(&thread, &attr, function, argument);
	if (error)
		die("pthread_create; see /proc/sys/kernel/threads-max", error);
	pthread_attr_destroy(&attr);
	return thread;
}

/* A requeue of a futex onto itself moves nobody, and counts. */
static void wait_queued(uint32_t *word, long nr)
{
	while (futex(word, FUTEX_REQUEUE, 0, INT_MAX, word) != nr)
		sched_yield();
}

static void *wait_one(void *word)
{
	futex(word, FUTEX_WAIT, 0, 0, NULL);
	woken_index = -1;
	__atomic_add_fetch(&nr_returned, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *wait_batch(void *argument)
{
	struct futex_waitv waits[NR_BATCH] = { 0 };
	struct batch *b = argument;

	for (int i = 0; i < b->nr; i++) {
		waits[i].uaddr = (uintptr_t)&b->words[i];
		waits[i].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
	}
	woken_index = syscall(SYS_futex_waitv, waits, b->nr, 0, NULL, 0);
	__atomic_add_fetch(&nr_returned, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The index of who is first in line at @word, -1 for the thread that is one. */
static int wake_first(uint32_t *word)
{
	int before = __atomic_load_n(&nr_returned, __ATOMIC_ACQUIRE);

	if (futex(word, FUTEX_WAKE, 1, 0, NULL) != 1)
		die("FUTEX_WAKE woke nobody", errno);
	while (__atomic_load_n(&nr_returned, __ATOMIC_ACQUIRE) == before)
		sched_yield();
	return woken_index;
}

/*
 * One of @nr words of @batch that is in the bucket of @word, or NULL. A waiter
 * that is moved within its bucket keeps its place there: it is woken before one
 * that came later. Moved to another bucket, it goes to the end.
 */
static uint32_t *find_in_batch(uint32_t *batch, int nr, uint32_t *word)
{
	struct batch b = { .words = batch, .nr = nr };
	pthread_t many, one;
	int found;

	many = start(wait_batch, &b);
	wait_queued(&batch[nr - 1], 1);
	one = start(wait_one, word);
	wait_queued(word, 1);
	for (int i = 0; i < nr; i++)
		futex(&batch[i], FUTEX_REQUEUE, 0, 1, word);
	found = wake_first(word);
	wake_first(word);
	pthread_join(many, NULL);
	pthread_join(one, NULL);
	return found < 0 ? NULL : &batch[found];
}

/* The first of the words that is in the bucket of @word. */
static uint32_t *find_near(uint32_t *word)
{
	uint32_t *batch = words, *found = NULL;

	while (!found && batch + NR_BATCH <= words + NR_WORDS) {
		found = find_in_batch(batch, NR_BATCH, word);
		batch += NR_BATCH;
	}
	if (!found)
		die("no two words are in one bucket", 0);
	return found;
}

/* The last of the words that is not. */
static uint32_t *find_far(uint32_t *word)
{
	uint32_t *far = &words[NR_WORDS - 1];

	while (find_in_batch(far, 1, word))
		far--;
	return far;
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
	near = find_near(&from);
	to = find_far(&from);
	for (long i = 0; i < nr; i++)
		start(wait_one, &from);
	wait_queued(&from, nr);
	thread = start(bystander, near);
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
