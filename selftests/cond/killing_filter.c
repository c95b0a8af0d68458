// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sandbox such as browsers have ends the program at any futex operation but
 * wait, wake and requeue. Condvars and mutexes that do not inherit priorities
 * work in there, also where threads meet at every instruction; and a program
 * that has got the filter from its parent starts with the drop-in.
 *
 * APIs: drover pthread
 */
#define EVERYWHERE_SPIN_MS 2

#include "fixture.h"
#include "preempt.h"
#include "run.h"
#include "sandbox.h"

#define NR_WAITERS 3
#define MS	   300

static api_cond_t cond;
static api_mutex_t mutex;
static struct fixture fixture;
static uint64_t seed;

static const uint32_t permitted[] = {
	FUTEX_WAIT,	   FUTEX_WAKE,	      FUTEX_REQUEUE,
	FUTEX_CMP_REQUEUE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET,
};

#define NR_PERMITTED ((int)(sizeof(permitted) / sizeof(permitted[0])))

static void kill_others(void)
{
	struct sock_filter code[6 + NR_PERMITTED];
	int at = 0;

	code[at++] = (struct sock_filter)FILTER_LOAD(nr);
	code[at++] =
		(struct sock_filter)FILTER_UNLESS(SYS_futex, 3 + NR_PERMITTED);
	code[at++] = (struct sock_filter)FILTER_LOAD(args[1]);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
						  FUTEX_CMD_MASK);
	for (int i = 0; i < NR_PERMITTED; i++)
		code[at++] = (struct sock_filter)FILTER_IF(permitted[i],
							   NR_PERMITTED - i);
	code[at++] =
		(struct sock_filter)FILTER_RETURN(SECCOMP_RET_KILL_PROCESS);
	code[at++] = (struct sock_filter)FILTER_RETURN(SECCOMP_RET_ALLOW);
	sandbox_has(filter_install(code, at));
}

static void others_wait(void)
{
	fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	fixture_add(&fixture, NR_WAITERS);
}

static void signal_it(void *arg)
{
	(void)arg;
	api_cond_signal(&cond);
}

static void broadcast_held(void *arg)
{
	(void)arg;
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
}

static void time_out(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	(void)arg;
	api_mutex_lock(&mutex);
	api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&mutex);
}

static void other_broadcasts(void)
{
	api_cond_broadcast(&cond);
}

static bool all_return(void)
{
	fixture_end(&fixture);
	return true;
}

static const struct scenario scenarios[] = {
	{ "signal and broadcast", others_wait, signal_it, other_broadcasts,
	  all_return },
	{ "broadcast, mutex held, and broadcast", others_wait, broadcast_held,
	  other_broadcasts, all_return },
	{ "wait, which times out, and broadcast", others_wait, time_out,
	  other_broadcasts, all_return },
};

#define NR_SCENARIOS ((int)(sizeof(scenarios) / sizeof(scenarios[0])))

/* In a process of its own. Return: its status. */
static int child_status(void (*work)(const void *arg), const void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid) {
		work(arg);
		_exit(SANDBOX_HELD);
	}
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	return status;
}

static void report(int status, const char *what, const char *name)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_ABSENT)
		tap_skip(name, "this kernel has no seccomp filters");
	else if (!tap_ok(status == SANDBOX_HELD, "%s%s", what, name))
		tap_diag("status %#x", status);
}

static void meet_everywhere(const void *arg)
{
	kill_others();
	if (!everywhere(arg, seed, MS))
		_exit(SANDBOX_VIOLATED);
}

static void test_scenarios(bool shared)
{
	const char *what = shared ? "shared: " : "";

	if (kind_cond_init(&cond, shared) ||
	    kind_mutex_init(&mutex, kind_named("normal"), shared))
		tap_bail("init");
	for (int i = 0; i < NR_SCENARIOS; i++) {
		if (!PREEMPT_POSSIBLE)
			tap_skip(scenarios[i].name, "no trap flag here");
		else
			report(child_status(meet_everywhere, &scenarios[i]),
			       what, scenarios[i].name);
	}
}

static void start_program(const void *program)
{
	kill_others();
	execl(program, program, NULL);
	_exit(SANDBOX_VIOLATED);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed");

	api_start(argv);
	if (!CHILDREN_MAY_HAVE_THREADS)
		return children_have_no_threads();
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(1 + 2 * NR_SCENARIOS);
	tap_diag("seed=%" PRIu64, seed);
	watchdog("in a sandbox");
	report(child_status(start_program, "/bin/true"), "",
	       "/bin/true starts");
	test_scenarios(false);
	test_scenarios(true);

	return tap_exit();
}
