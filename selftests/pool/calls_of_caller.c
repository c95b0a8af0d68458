// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls of a loop's caller when all workers sleep: at most two
 * wake-ups and a handful of other calls, for 64 workers as for 16. The test's
 * parent counts them by ptrace. It traces only the caller, so the caller's
 * system calls are slow and the workers' are not.
 */
#include <linux/futex.h>
#include <sys/ptrace.h>

#include "tasks.h"

#define NR_ROUNDS 12
/* A wake-up may come with two calls about the worker's affinity. */
#define MOST_CALLS 12

/*
 * The calls of one loop. @all: without the calls by which the caller waits.
 * @nr_more: loops with more than two wake-ups, of which one may be a lock's
 */
struct calls {
	int wakes, all, nr_more;
};

static int meet(size_t begin, size_t end, const drover_part_t *part, void *arg)
{
	nr_begun++;
	reached(&nr_begun, (int)part->threads);
	return 0;
}

/* Runs in the child, which stops before each loop and after it. */
static void run_loops(int nr)
{
	const drover_loop_t loop = { .function = meet,
				     .grain = 1,
				     .threads = nr + 1 };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	begin(nr);
	for (int i = 0; i < NR_ROUNDS; i++) {
		await_sleep(nr);
		nr_begun = 0;
		raise(SIGSTOP);
		MUST(drover_pool_loop(pool, 0, nr + 1, &loop));
		raise(SIGSTOP);
	}
	end();
	_exit(0);
}

static void count_call(pid_t pid, struct calls *calls)
{
	struct __ptrace_syscall_info info;
	int op;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		tap_bail("PTRACE_GET_SYSCALL_INFO: %s", strerror(errno));
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	op = (int)info.entry.args[1] & FUTEX_CMD_MASK;
	calls->wakes += info.entry.nr == SYS_futex && op == FUTEX_WAKE;
	calls->all += info.entry.nr != SYS_sched_yield &&
		      (info.entry.nr != SYS_futex || op == FUTEX_WAKE);
}

/* Go on until the next SIGSTOP. Return: false when the child has ended. */
static bool go_on(pid_t pid, struct calls *calls)
{
	int status;

	do {
		if (ptrace(calls ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL,
			   NULL) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		if (calls && WSTOPSIG(status) == (SIGTRAP | 0x80))
			count_call(pid, calls);
	} while (WSTOPSIG(status) != SIGSTOP);
	return true;
}

/*
 * Return: the calls of the loop with the fewest. In other loops a lock may have
 * had a waiter.
 */
static struct calls least_calls(int nr)
{
	struct calls least = { .all = INT_MAX }, calls;
	pid_t pid = fork();
	int status, loops = 0, nr_more = 0;

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid)
		run_loops(nr);
	watchdog("loops that are traced");
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return least;
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	do {
		calls = (struct calls){ 0 };
		if (!go_on(pid, &calls))
			break;
		loops++;
		nr_more += calls.wakes > 2;
		if (calls.all < least.all)
			least = calls;
	} while (go_on(pid, NULL));
	if (loops != NR_ROUNDS)
		tap_bail("the child ended after %d of %d loops", loops,
			 NR_ROUNDS);
	least.nr_more = nr_more;
	return least;
}

int main(void)
{
	struct calls of_16 = least_calls(16), of_64;

	tap_plan(2);
	if (of_16.all == INT_MAX) {
		tap_skip_all(2, "calls", "no process may be traced here");
		return tap_exit();
	}
	of_64 = least_calls(64);
	tap_ok(of_16.wakes >= 1 && of_64.wakes >= 1 &&
		       of_16.nr_more <= NR_ROUNDS / 2 &&
		       of_64.nr_more <= NR_ROUNDS / 2,
	       "the caller wakes %d of 16 workers, %d of 64; more than two "
	       "in %d and %d of %d loops",
	       of_16.wakes, of_64.wakes, of_16.nr_more, of_64.nr_more,
	       NR_ROUNDS);
	tap_ok(of_16.all <= MOST_CALLS && of_64.all <= MOST_CALLS,
	       "all calls of the caller: %d with 16 workers, %d with 64",
	       of_16.all, of_64.all);
	return tap_exit();
}
