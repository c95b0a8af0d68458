/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sandbox.h - tests in processes of their own, which get a seccomp filter
 *
 * The library remembers what it has found out about the kernel. So each test
 * needs a process of its own, in which the library finds out again.
 */
#pragma once

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "run.h"

#define SANDBOX_ABSENT 2

/* sandbox_has - @err: the result of installing a filter */
static inline void sandbox_has(int err)
{
	if (err)
		_exit(SANDBOX_ABSENT);
}

/* sandbox_run - run @test in a child, which gives one result */
static inline void sandbox_run(const char *what, const char *name,
			       bool (*test)(void))
{
	int status = child_status(test, name);

	if (status == SANDBOX_ABSENT)
		tap_skip(name, "this kernel has no seccomp filters");
	else
		tap_ok(status == 0, "%s: %s", what, name);
}

/*
 * A filter stays for ever, in the calling thread and in threads that it creates
 * later. The functions return 0 or an errno value, which is EINVAL if the
 * kernel has no filters.
 */

#define FILTER_LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define FILTER_IF(value, skip) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), skip, 0)
#define FILTER_RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/*
 * filter_list - the first @at instructions of @code load a value. If it is one
 * of the @nr values of @list, the filter returns @listed, and else @others.
 */
static inline int filter_list(struct sock_filter *code, int at,
			      const uint32_t *list, int nr, uint32_t listed,
			      uint32_t others)
{
	struct sock_fprog program = { .len = at + nr + 2, .filter = code };

	for (int i = 0; i < nr; i++)
		code[at++] = (struct sock_filter)FILTER_IF(list[i], nr - i);
	code[at++] = (struct sock_filter)FILTER_RETURN(others);
	code[at++] = (struct sock_filter)FILTER_RETURN(listed);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return errno;
	return 0;
}

/*
 * filter_futex - the same for futex operations; other system calls are allowed
 */
static inline int filter_futex(const uint32_t *list, int nr, uint32_t listed,
			       uint32_t others)
{
	struct sock_filter code[16] = {
		FILTER_LOAD(nr),
		FILTER_IF(SYS_futex, 1),
		FILTER_RETURN(SECCOMP_RET_ALLOW),
		FILTER_LOAD(args[1]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FUTEX_CMD_MASK),
	};

	return filter_list(code, 5, list, nr, listed, others);
}

/* filter_answer - return @what for two futex operations, which may be equal */
static inline int filter_answer(uint32_t what, uint32_t op, uint32_t other)
{
	return filter_futex((uint32_t[]){ op, other }, 2, what,
			    SECCOMP_RET_ALLOW);
}

/*
 * run_unwiped - begin the program again, on a kernel that wipes no memory in a
 * child; run_go_on() returns @stage there. Returns if there are no filters.
 */
static inline int run_unwiped(char **argv, unsigned int stage)
{
	/* The filter is for the program that is executed next. */
	struct sock_filter code[7] = {
		FILTER_LOAD(nr),
		FILTER_IF(SYS_madvise, 1),
		FILTER_RETURN(SECCOMP_RET_ALLOW),
		FILTER_LOAD(args[2]),
	};
	int err = filter_list(code, 4, (uint32_t[]){ MADV_WIPEONFORK }, 1,
			      SECCOMP_RET_ERRNO | EINVAL, SECCOMP_RET_ALLOW);

	if (err)
		return err;
	run_hand_on(stage);
	fflush(stdout);
	execv("/proc/self/exe", argv);
	tap_bail("%s: %s", argv[0], strerror(errno));
}

/* misuse_test - does a child that does @steps say @says, and abort? */
static inline void misuse_test(bool (*act)(const char *steps),
			       const char *steps, const char *says)
{
	const struct rlimit no_core = { 0, 0 };
	char text[512] = "";
	int ends[2], status;
	pid_t pid;

	MUST(pipe(ends));
	pid = fork();
	if (pid == 0) {
		watchdog("in the child");
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], STDERR_FILENO);
		act(steps);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) < 0)
		tap_bail("pipe: %s", strerror(errno));
	close(ends[0]);
	if (!tap_ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
			    WTERMSIG(status) == SIGABRT &&
			    strstr(text, "drover: ") && strstr(text, says),
		    "the debug build says \"%s\", and aborts", says))
		tap_diag("the output: %s", text);
}
