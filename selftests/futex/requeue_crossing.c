// SPDX-License-Identifier: GPL-2.0-only
/*
 * Movers against each other, in both directions and with single wakes in
 * between: no waiter is lost, and none is woken without a wake that counted
 * it. A deadlock of the two bucket locks would show here too.
 */
#include "run.h"
#include "sleepers.h"

#define NR_WAITERS 64
#define NR_MOVERS  2
#define NR_WAKERS  2
#define FLAGS	   FUTEX_PRIVATE_FLAG

static uint32_t words[2];
static atomic_bool stop;
static atomic_long nr_moves, nr_wakes, nr_returns;

static void *wait_again_and_again(void *arg)
{
	uint32_t *word = arg;

	while (!atomic_load(&stop)) {
		long result = sys_futex_wait(word, FLAGS, 0, NULL);

		if (result == 0)
			atomic_fetch_add(&nr_returns, 1);
		else if (result != -EAGAIN)
			tap_bail("FUTEX_WAIT: %s", strerror(-result));
	}
	return NULL;
}

/* Half of the calls compare; the words change only at the very end. */
static void *move(void *arg)
{
	uint32_t *from = arg, *to = from == words ? words + 1 : words;
	const struct requeue_op *op = &requeue_ops[0];

	for (long i = 1; !atomic_load(&stop); i++) {
		long moved = op->requeue(from, to, FLAGS, 0, 1 + i % 50);

		if (moved < 0 && moved != -EAGAIN)
			tap_bail("%s: %s", op->name, strerror(-moved));
		if (moved > 0)
			atomic_fetch_add(&nr_moves, moved);
		op = &requeue_ops[i % 2];
	}
	return NULL;
}

static void *wake(void *arg)
{
	while (!atomic_load(&stop))
		atomic_fetch_add(&nr_wakes, sys_futex_wake(arg, FLAGS, 1));
	return NULL;
}

static void start(pthread_t *threads, int nr, void *(*run)(void *))
{
	for (int i = 0; i < nr; i++)
		start_thread(&threads[i], run, &words[i % 2]);
}

static void join(pthread_t *threads, int nr)
{
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void run_for(uint64_t rounds)
{
	int64_t deadline = blocked_deadline();
	long moves, seen = 0;

	while ((moves = atomic_load(&nr_moves)) < (long)rounds) {
		if (blocked_still(moves, &seen, &deadline))
			break;
		sched_yield();
	}
}

/*
 * First the words change, so that nobody goes to sleep any more; then the
 * movers are gone, so that who sleeps stays where he is; then all are woken.
 */
static bool finish(pthread_t *movers, pthread_t *wakers, pthread_t *waiters)
{
	long left;

	for (int i = 0; i < 2; i++)
		__atomic_store_n(&words[i], 1, __ATOMIC_SEQ_CST);
	atomic_store(&stop, true);
	join(movers, NR_MOVERS);
	join(wakers, NR_WAKERS);
	for (int i = 0; i < 2; i++)
		atomic_fetch_add(&nr_wakes,
				 sys_futex_wake(&words[i], FLAGS, INT_MAX));
	join(waiters, NR_WAITERS);
	left = sys_futex_wake(&words[0], FLAGS, INT_MAX) +
	       sys_futex_wake(&words[1], FLAGS, INT_MAX);
	return left == 0;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	pthread_t movers[NR_MOVERS], wakers[NR_WAKERS], waiters[NR_WAITERS];
	uint64_t rounds = args_get(&args, "rounds", 20000);

	if (variant_is("none"))
		return requeue_absent_main();
	tap_plan(3);
	start(waiters, NR_WAITERS, wait_again_and_again);
	start(movers, NR_MOVERS, move);
	start(wakers, NR_WAKERS, wake);
	run_for(rounds);
	tap_ok(finish(movers, wakers, waiters), "all waiters came back");
	tap_ok(atomic_load(&nr_moves) >= (long)rounds, "%" PRIu64 " moves",
	       rounds);
	tap_is(atomic_load(&nr_returns), atomic_load(&nr_wakes),
	       "every return was a wake, every wake a return");
	tap_diag("%ld moves, %ld wakes", atomic_load(&nr_moves),
		 atomic_load(&nr_wakes));
	return tap_exit();
}
