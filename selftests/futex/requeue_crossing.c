// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiters, movers and wakers use a few futexes, private and shared, at the same
 * time, with deadlines and signals: no waiter is lost, and each that wakes was
 * counted by a wake. If the kernel has CONFIG_FAIL_FUTEX, the test does the
 * same once more with calls that fail on purpose.
 *
 *	seed=N	rounds=N
 */
#include "sleepers.h"

#define FAIL_FUTEX "/sys/kernel/debug/fail_futex/"

#define NR_WAITERS 32
#define NR_MOVERS  2
#define NR_WAKERS  2
#define NR_WORDS   4

static bool fails; /* calls fail on purpose */
static uint32_t words[NR_WORDS];
static atomic_bool stop;
static atomic_long nr_moves, nr_wakes, nr_woken, nr_faults;
static uint64_t seed;

static struct worker {
	pthread_t thread;
	uint64_t random;
} waiters[NR_WAITERS], movers[NR_MOVERS], wakers[NR_WAKERS];

static void set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		tap_bail("%s: %s", path, strerror(errno));
	close(fd);
}

/*
 * May this thread's calls fail? Not when it ends: the kernel then wakes the
 * thread that joins it, by a call which would count as this thread's.
 */
static void may_fail(bool fail)
{
	if (fails)
		set("/proc/thread-self/make-it-fail", fail ? "1" : "0");
}

/*
 * Check the answer of a call. Return: how many waiters it has woken or moved.
 */
static long answer(long result)
{
	if (result == -EFAULT && fails)
		nr_faults++;
	else if (result < 0 && result != -EAGAIN && result != -EINTR &&
		 result != -ETIMEDOUT)
		tap_bail("a futex call: %s", strerror(-result));
	return result < 0 ? 0 : result;
}

static int flags_of(struct worker *self)
{
	return random_below(&self->random, 2) ? FUTEX_PRIVATE_FLAG : 0;
}

static uint32_t *word_of(struct worker *self)
{
	return &words[random_below(&self->random, NR_WORDS)];
}

/* Wait for up to 200 microseconds, and every sixteenth time for a second. */
static void *wait_again(void *arg)
{
	struct worker *self = arg;

	may_fail(true);
	while (!stop) {
		struct timespec timeout = { 0 };
		long result;

		if (random_below(&self->random, 16))
			timeout.tv_nsec = random_below(&self->random, 200000);
		else
			timeout.tv_sec = 1;
		result = sys_futex_wait(word_of(self), flags_of(self), 0,
					&timeout);
		atomic_fetch_add(&nr_woken, result == 0);
		answer(result);
	}
	may_fail(false);
	return NULL;
}

/* The words change only at the very end, so most that compare succeed. */
static void *move(void *arg)
{
	struct worker *self = arg;
	uint32_t nr_ops = NR_REQUEUE_OPS;

	/* The kernel may not have the last operation. */
	nr_ops -= requeue_by(&requeue_ops[2], &words[0], &words[1], 0, 0, 0) ==
		  -ENOSYS;
	may_fail(true);
	while (!stop) {
		const struct requeue_op *op =
			&requeue_ops[random_below(&self->random, nr_ops)];
		int nr = random_below(&self->random, 2 * NR_WAITERS);

		atomic_fetch_add(&nr_moves,
				 answer(requeue_by(op, word_of(self),
						   word_of(self),
						   flags_of(self), 0, nr)));
	}
	may_fail(false);
	return NULL;
}

static void *wake(void *arg)
{
	struct worker *self = arg;

	may_fail(true);
	while (!stop)
		atomic_fetch_add(&nr_wakes,
				 answer(sys_futex_wake(word_of(self),
						       flags_of(self), 1)));
	may_fail(false);
	return NULL;
}

static void start(struct worker *workers, int nr, void *(*run)(void *))
{
	for (int i = 0; i < nr; i++) {
		workers[i].random = random_next(&seed);
		start_thread(&workers[i].thread, run, &workers[i]);
	}
}

static void join(struct worker *workers, int nr)
{
	while (nr--)
		joined(workers[nr].thread);
}

static void nothing(int signal)
{
}

/* Send signals to the waiters, until enough of them were moved and woken. */
static void run_for(const char *name, long rounds)
{
	long done, seen = -1;

	while (nr_moves < rounds || nr_wakes < rounds / 100) {
		done = nr_moves + nr_wakes;
		/* A test that makes progress is slow, but does not hang. */
		if (done != seen)
			watchdog(name);
		seen = done;
		pthread_kill(waiters[random_below(&seed, NR_WAITERS)].thread,
			     SIGUSR1);
		sched_yield();
	}
	watchdog(name);
}

static long wake_all(void)
{
	long nr = 0;

	for (int i = 0; i < NR_WORDS; i++)
		nr += sys_futex_wake(&words[i], FUTEX_PRIVATE_FLAG, INT_MAX) +
		      sys_futex_wake(&words[i], 0, INT_MAX);
	return nr;
}

/*
 * First the words change, so no thread falls asleep any more. Then the movers
 * end, so sleepers stay at their words. Then all are woken. Return: how many
 * waiters are still there.
 */
static long finish(void)
{
	for (int i = 0; i < NR_WORDS; i++)
		__atomic_store_n(&words[i], 1, __ATOMIC_SEQ_CST);
	stop = true;
	join(movers, NR_MOVERS);
	join(wakers, NR_WAKERS);
	if (fails)
		set(FAIL_FUTEX "probability", "0");
	atomic_fetch_add(&nr_wakes, wake_all());
	join(waiters, NR_WAITERS);
	return wake_all();
}

static void test(const char *name, long rounds)
{
	memset(words, 0, sizeof(words));
	stop = false;
	nr_moves = 0;
	nr_wakes = 0;
	nr_woken = 0;
	/* One call in ten fails if its thread asks for that; none is logged. */
	if (fails) {
		set(FAIL_FUTEX "task-filter", "Y");
		set(FAIL_FUTEX "verbose", "0");
		set(FAIL_FUTEX "interval", "1");
		set(FAIL_FUTEX "times", "-1");
		set(FAIL_FUTEX "probability", "10");
	}
	start(waiters, NR_WAITERS, wait_again);
	start(movers, NR_MOVERS, move);
	start(wakers, NR_WAKERS, wake);
	run_for(name, rounds);
	tap_is(finish(), 0, "%s: no waiter is left behind", name);
	tap_is(nr_woken, nr_wakes, "%s: as many waits return as were woken",
	       name);
	tap_is(nr_faults > 0, fails, "%s: %ld faults", name, nr_faults);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");
	const struct sigaction action = { .sa_handler = nothing };
	long rounds = args_get(&args, "rounds", 5000);

	if (variant_is("none"))
		return tap_skipped("requeue", "this kernel has no requeue");
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(6);
	tap_diag("seed=%" PRIu64, seed);
	sigaction(SIGUSR1, &action, NULL);
	test("deadlines and signals", rounds);
	fails = true;
	if (access(FAIL_FUTEX "probability", W_OK))
		tap_skip_all(3, "calls that fail on purpose",
			     "this kernel has no CONFIG_FAIL_FUTEX");
	else
		test("calls that fail on purpose", rounds);
	return tap_exit();
}
