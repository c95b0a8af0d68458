// SPDX-License-Identifier: GPL-2.0-only
/*
 * A loop needs all workers, and all of them sleep. They are woken in a tree, so
 * the number of steps until the last one is woken grows as the logarithm of the
 * number of workers. The caller makes at most two calls, however many there
 * are.
 *
 * The test counts the library's futex calls.
 */
#include <linux/futex.h>

#include "../pool/tasks.h"

#define NR_MOST	  64
#define NR_ROUNDS 20

/*
 * Threads in the order of their first sleep, and the words on which they sleep.
 */
static _Atomic(_Atomic uint32_t *) words[NR_MOST];
static atomic_int depths[NR_MOST], nr_wakes[NR_MOST], nr_threads;
static atomic_int nr_by_caller;
static _Thread_local int number; /* from 1, of workers */

static void sleeps_on(_Atomic uint32_t *word)
{
	if (!number)
		number = ++nr_threads;
	words[number - 1] = word;
}

static void wakes_on(_Atomic uint32_t *word)
{
	for (int i = 0; i < nr_threads; i++) {
		if (words[i] != word)
			continue;
		depths[i] = number ? depths[number - 1] + 1 : 1;
		++*(number ? &nr_wakes[number - 1] : &nr_by_caller);
	}
}

/* The library calls this function. A worker sleeps while its word is 1. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	int which = op & FUTEX_CMD_MASK;

	if (which == FUTEX_WAKE)
		wakes_on(word);
	else if (val == 1 && blocked_gettid() != getpid())
		sleeps_on(word);
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static int meet(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	nr_begun++;
	reached(&nr_begun, (int)part->threads);
	return 0;
}

static int most_of(atomic_int *of, int nr)
{
	int most = 0;

	for (int i = 0; i < nr; i++)
		most = of[i] > most ? of[i] : most;
	return most;
}

static void test_tree(int nr)
{
	const drover_loop_t loop = { .function = meet,
				     .grain = 1,
				     .threads = nr + 1 };
	int most = 0, least_deep = nr, by_worker = 0;

	watchdog("a loop of sleepers");
	nr_threads = 0;
	begin(nr);
	for (int i = 0; i < NR_ROUNDS; i++) {
		await_sleep(nr);
		nr_begun = nr_by_caller = 0;
		memset(nr_wakes, 0, sizeof(nr_wakes));
		MUST(drover_pool_loop(pool, 0, nr + 1, &loop));
		most = nr_by_caller > most ? nr_by_caller : most;
		by_worker = most_of(nr_wakes, nr) > by_worker ?
				    most_of(nr_wakes, nr) :
				    by_worker;
		if (most_of(depths, nr) < least_deep)
			least_deep = most_of(depths, nr);
	}
	end();
	tap_ok(most >= 1 && most <= 2 && by_worker <= 2,
	       "%d workers: the caller wakes at most %d, a worker at most %d",
	       nr, most, by_worker);
	/*
	 * The depth depends on the order in which workers run. If they were
	 * woken in two chains, it would be half their number.
	 */
	tap_ok(least_deep <= nr / 3,
	       "%d workers: the last one is woken after %d steps", nr,
	       least_deep);
}

int main(void)
{
	tap_plan(4);
	test_tree(16);
	test_tree(NR_MOST);
	return tap_exit();
}
