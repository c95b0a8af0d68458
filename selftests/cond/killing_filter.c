// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sandbox such as browsers have ends the program at any futex operation but
 * wait, wake and requeue. Condvars and mutexes that do not inherit priorities
 * work in there, also where threads meet at every instruction; and a program
 * that has got the filter from its parent starts with the drop-in. No system
 * call is made but those of the C library's threads, and those that
 * Documentation/differences-from-glibc.rst lists.
 *
 * APIs: drover pthread
 */
#define EVERYWHERE_SPIN_MS 2

#include "meet.h"
#include "sandbox.h"

#define MS 300

static uint64_t seed;

static const uint32_t permitted[] = {
	FUTEX_WAIT,	   FUTEX_WAKE,	      FUTEX_REQUEUE,
	FUTEX_CMP_REQUEUE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET,
};

static void kill_others(void)
{
	struct sock_filter code[6 + NR_OF(permitted)];
	int at = 0;

	code[at++] = (struct sock_filter)FILTER_LOAD(nr);
	code[at++] = (struct sock_filter)FILTER_UNLESS(SYS_futex,
						       3 + NR_OF(permitted));
	code[at++] = (struct sock_filter)FILTER_LOAD(args[1]);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
						  FUTEX_CMD_MASK);
	for (int i = 0; i < NR_OF(permitted); i++)
		code[at++] = (struct sock_filter)FILTER_IF(
			permitted[i], NR_OF(permitted) - i);
	code[at++] =
		(struct sock_filter)FILTER_RETURN(SECCOMP_RET_KILL_PROCESS);
	code[at++] = (struct sock_filter)FILTER_RETURN(SECCOMP_RET_ALLOW);
	sandbox_has(filter_install(code, at));
}

static const struct meeting meetings[] = {
	{ "signal and broadcast", "wait 3", "signal", "broadcast", "gone 3" },
	{ "broadcast, mutex held, and broadcast", "wait 3", "broadcast_held",
	  "broadcast", "gone 3" },
	{ "wait, which times out, and broadcast", "wait 3", "time_out_held",
	  "broadcast", "gone 3" },
};

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
	struct scenario scenario = meeting_scenario(arg);

	kill_others();
	if (!everywhere(&scenario, seed, MS))
		_exit(SANDBOX_VIOLATED);
}

static void test_meetings(bool shared)
{
	const char *what = shared ? "shared: " : "";

	scene_start("", "normal", shared);
	for (int i = 0; i < NR_OF(meetings); i++) {
		if (!PREEMPT_POSSIBLE)
			tap_skip(meetings[i].name, "no trap flag here");
		else
			report(child_status(meet_everywhere, &meetings[i]),
			       what, meetings[i].name);
	}
}

static void start_program(const void *program)
{
	kill_others();
	execl(program, program, NULL);
	_exit(SANDBOX_VIOLATED);
}

/* ---- which system calls ---- */

#define RING   4
#define ROUNDS 500

static const int listed[] = {
	/* threads, memory, and condvars of the C library */
	SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_set_robust_list, SYS_rseq, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_brk, SYS_getrandom, SYS_futex,
	SYS_clock_gettime,
	/* Drover's, in a wait or signal */
	SYS_gettid, SYS_sched_yield, SYS_sched_getscheduler, SYS_nanosleep,
	/* the test's, to say which it was */
	SYS_write
};

static void not_listed(int signal, siginfo_t *info, void *context)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "# system call %d\n",
			   info->si_syscall);

	_exit(write(STDOUT_FILENO, text, len) < 0 ? SANDBOX_ABSENT :
						    SANDBOX_VIOLATED);
}

static void kill_unlisted(void)
{
	const struct sigaction action = { .sa_sigaction = not_listed,
					  .sa_flags = SA_SIGINFO };
	struct sock_filter code[3 + NR_OF(listed)];
	int at = 0;

	code[at++] = (struct sock_filter)FILTER_LOAD(nr);
	for (int i = 0; i < NR_OF(listed); i++)
		code[at++] = (struct sock_filter)FILTER_IF(listed[i],
							   NR_OF(listed) - i);
	code[at++] = (struct sock_filter)FILTER_RETURN(SECCOMP_RET_TRAP);
	code[at++] = (struct sock_filter)FILTER_RETURN(SECCOMP_RET_ALLOW);
	sigaction(SIGSYS, &action, NULL);
	sandbox_has(filter_install(code, at));
}

static int turn; /* [mutex] */

static void *take_turns(void *arg)
{
	int own = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct timespec end = deadline_in(CLOCK_MONOTONIC, NS_PER_S);

		api_mutex_lock(&mutex);
		while (turn % RING != own)
			if (own)
				api_cond_wait(&cond, &mutex);
			else
				api_cond_clockwait(&cond, &mutex,
						   CLOCK_MONOTONIC, &end);
		turn++;
		if (i & 1)
			api_cond_broadcast(&cond);
		api_mutex_unlock(&mutex);
		if (!(i & 1))
			api_cond_broadcast(&cond);
		api_cond_signal(&cond);
	}
	return NULL;
}

static void call_what_is_listed(const void *arg)
{
	pthread_t threads[RING];

	kill_unlisted();
	for (intptr_t i = 0; i < RING; i++)
		threads[i] = thread_of(take_turns, (void *)i);
	for (int i = 0; i < RING; i++)
		joined(threads[i]);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed");

	api_start(argv);
	if (!CHILDREN_MAY_HAVE_THREADS)
		return children_have_no_threads();
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(2 + 2 * NR_OF(meetings));
	tap_diag("seed=%" PRIu64, seed);
	watchdog("in a sandbox");
	report(child_status(start_program, "/bin/true"), "",
	       "/bin/true starts");
	scene_start("", "normal", false);
	if (!FRAMES_MAY_UNWIND)
		tap_skip("system calls", "AddressSanitizer makes others");
	else
		report(child_status(call_what_is_listed, NULL), "",
		       "no other system call than those that are listed");
	test_meetings(false);
	test_meetings(true);

	return tap_exit();
}
