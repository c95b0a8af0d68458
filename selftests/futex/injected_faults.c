// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel makes futex calls fail on purpose (CONFIG_FAIL_FUTEX) while
 * waiters are woken and moved in all directions: whatever fails has done
 * nothing, so as many waits end well as the wakes counted, and nobody is left.
 */
#include "run.h"
#include "sleepers.h"

#define FAIL_FUTEX "/sys/kernel/debug/fail_futex/"

#define NR_WAITERS 8
#define NR_MOVERS  3
#define NR_WORDS   3

static uint32_t words[NR_WORDS];
static atomic_bool stop;
static atomic_long nr_woken, nr_wakes, nr_moved, nr_faults;
static long rounds;

struct worker {
	pthread_t thread;
	uint64_t random;
};

static void set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		tap_bail("%s: %s", path, strerror(errno));
	close(fd);
}

/* One call in ten, of threads that ask for it, without a word in the log. */
static void inject(void)
{
	set(FAIL_FUTEX "task-filter", "Y");
	set(FAIL_FUTEX "verbose", "0");
	set(FAIL_FUTEX "interval", "1");
	set(FAIL_FUTEX "times", "-1");
	set(FAIL_FUTEX "probability", "10");
}

/*
 * Whether this thread's calls may fail. A thread must not end that way: the
 * kernel wakes who joins it by a call of that thread.
 */
static void may_fail(bool fail)
{
	set("/proc/thread-self/make-it-fail", fail ? "1" : "0");
}

static long fail_here(long result)
{
	if (result == -EFAULT)
		atomic_fetch_add(&nr_faults, 1);
	else if (result < 0 && result != -EAGAIN && result != -ETIMEDOUT)
		tap_bail("a futex call: %s", strerror(-result));
	return result;
}

static void *wait_again(void *arg)
{
	struct worker *worker = arg;
	const struct timespec timeout = { .tv_nsec = 20000000 };
	int flags;

	may_fail(true);
	while (!atomic_load(&stop)) {
		uint32_t *word =
			&words[random_below(&worker->random, NR_WORDS)];

		flags = FUTEX_PRIVATE_FLAG * random_below(&worker->random, 2);
		if (fail_here(sys_futex_wait(word, flags, 0, &timeout)) == 0)
			atomic_fetch_add(&nr_woken, 1);
	}
	may_fail(false);
	return NULL;
}

static void move_some(struct worker *worker, int flags)
{
	const struct requeue_op *op =
		&requeue_ops[random_below(&worker->random, NR_REQUEUE_OPS)];
	uint32_t from = random_below(&worker->random, NR_WORDS),
		 to = random_below(&worker->random, NR_WORDS);
	long moved = fail_here(
		op->requeue(&words[from], &words[to], flags, 0, INT_MAX));

	if (moved > 0)
		atomic_fetch_add(&nr_moved, moved);
}

static void *move_and_wake(void *arg)
{
	struct worker *worker = arg;
	long woken;
	int flags;

	may_fail(true);
	for (long i = 0; i < rounds; i++) {
		uint32_t *word =
			&words[random_below(&worker->random, NR_WORDS)];

		flags = FUTEX_PRIVATE_FLAG * random_below(&worker->random, 2);
		move_some(worker, flags);
		woken = fail_here(sys_futex_wake(word, flags, 1));
		if (woken > 0)
			atomic_fetch_add(&nr_wakes, woken);
	}
	may_fail(false);
	return NULL;
}

static void start(struct worker *workers, int nr, void *(*run)(void *),
		  uint64_t seed)
{
	for (int i = 0; i < nr; i++) {
		workers[i].random = seed + i;
		start_thread(&workers[i].thread, run, &workers[i]);
	}
}

static void test_faults(uint64_t seed)
{
	struct worker waiters[NR_WAITERS], movers[NR_MOVERS];

	start(waiters, NR_WAITERS, wait_again, seed);
	start(movers, NR_MOVERS, move_and_wake, seed + NR_WAITERS);
	for (int i = 0; i < NR_MOVERS; i++)
		pthread_join(movers[i].thread, NULL);
	set(FAIL_FUTEX "probability", "0");
	atomic_store(&stop, true);
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_join(waiters[i].thread, NULL);

	tap_is(atomic_load(&nr_woken), atomic_load(&nr_wakes),
	       "as many were woken as the wakes counted");
	tap_ok(atomic_load(&nr_wakes) > 0, "some were woken");
	tap_ok(atomic_load(&nr_moved) > 0, "some were moved");
	tap_ok(atomic_load(&nr_faults) > 0, "some calls failed on purpose");
	tap_diag("woken %ld, moved %ld, failed %ld", atomic_load(&nr_wakes),
		 atomic_load(&nr_moved), atomic_load(&nr_faults));
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());

	rounds = args_get(&args, "rounds", 5000);
	if (access(FAIL_FUTEX "probability", W_OK)) {
		tap_plan(1);
		tap_skip("faults in futex calls", "no CONFIG_FAIL_FUTEX here");
		return tap_exit();
	}
	tap_plan(4);
	tap_diag("seed=%" PRIu64, seed);
	inject();
	test_faults(seed);
	return tap_exit();
}
