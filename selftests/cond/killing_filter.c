// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sandbox, such as browsers have, kills a program that makes any futex call
 * other than wait, wake and requeue. Condvars and mutexes without priority
 * inheritance work in this sandbox. The library makes only the system calls
 * that Documentation/differences-from-glibc.rst lists, beside those that the C
 * library's threads make.
 *
 * APIs: drover pthread
 */
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
	sandbox_has(filter_futex(permitted, NR_OF(permitted), SECCOMP_RET_ALLOW,
				 SECCOMP_RET_KILL_PROCESS));
}

static const struct meeting meetings[] = {
	{ "signal and broadcast", "wait 3", "signal", "broadcast", "gone 3" },
	{ "broadcast, mutex held, and broadcast", "wait 3", "broadcast_held",
	  "broadcast", "gone 3" },
	{ "wait, which times out, and broadcast", "wait 3", "time_out_held",
	  "broadcast", "gone 3" },
};

static const struct meeting *chosen;

static bool meet_everywhere(void)
{
	kill_others();
	return everywhere(chosen, seed, MS);
}

static void test_meetings(const char *what, bool shared)
{
	scene_start("", "normal", shared);
	for (chosen = meetings; chosen < meetings + NR_OF(meetings); chosen++) {
		if (!PREEMPT_POSSIBLE)
			tap_skip(chosen->name,
				 "this processor has no trap flag");
		else
			sandbox_run(what, chosen->name, meet_everywhere);
	}
}

/* The program inherits the filter, and ends with 0. */
static bool start_program(void)
{
	kill_others();
	execl("/bin/true", "/bin/true", NULL);
	return false;
}

/* ---- which system calls ---- */

#define RING   4
#define ROUNDS 500

static const uint32_t listed[] = {
	/* threads, memory, and condvars of the C library */
	SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_set_robust_list, SYS_rseq, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_brk, SYS_getrandom, SYS_futex,
	SYS_clock_gettime,
	/* the library's, in a wait or signal */
	SYS_gettid, SYS_sched_yield, SYS_sched_getscheduler, SYS_nanosleep,
	SYS_sched_getaffinity,
	/* the test's, to say which call was made */
	SYS_write
};

static void not_listed(int signal, siginfo_t *info, void *context)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "# system call %d\n",
			   info->si_syscall);

	_exit(write(STDOUT_FILENO, text, len) < 0 ? SANDBOX_ABSENT : 1);
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

static bool call_what_is_listed(void)
{
	const struct sigaction action = { .sa_sigaction = not_listed,
					  .sa_flags = SA_SIGINFO };
	struct sock_filter code[3 + NR_OF(listed)] = { FILTER_LOAD(nr) };

	sigaction(SIGSYS, &action, NULL);
	sandbox_has(filter_list(code, 1, listed, NR_OF(listed),
				SECCOMP_RET_ALLOW, SECCOMP_RET_TRAP));
	run_threads(RING, take_turns);
	return true;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed");

	api_start(argv);
	if (!CHILDREN_MAY_HAVE_THREADS)
		return tap_skipped("threads of a child",
				   "ThreadSanitizer ends the child");
	seed = args_get(&args, "seed", args_fresh_seed());
	everywhere_spin_ms = 2;
	tap_plan(2 + 2 * NR_OF(meetings));
	tap_diag("seed=%" PRIu64, seed);
	watchdog("in a sandbox");
	sandbox_run("a program", "/bin/true", start_program);
	scene_start("", "normal", false);
	if (!FRAMES_MAY_UNWIND)
		tap_skip("system calls", "AddressSanitizer makes more of them");
	else
		sandbox_run("private", "no system call that is not listed",
			    call_what_is_listed);
	test_meetings("private", false);
	test_meetings("shared", true);
	return tap_exit();
}
