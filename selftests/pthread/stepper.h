/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stepper.h - hold a thread of a child process after any of its instructions
 *
 *	if (stepper_seize(tid))
 *		...			// the kernel refuses ptrace
 *	...				// it comes to stepper_stop_here()
 *	stepper_await(tid);
 *	while (step(tid) == STEP_DONE && step_at(tid) != address)
 *		;
 *	...				// the thread is held, as by a scheduler
 *	stepper_let_go(tid);
 *
 * Only for x86-64, where STEPPER_WORKS is 1.
 */
#ifndef DROVER_SELFTESTS_STEPPER_H
#define DROVER_SELFTESTS_STEPPER_H

#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "blocked.h"
#include "tap.h"

enum step {
	STEP_DONE,   /* one more instruction, and held */
	STEP_ASLEEP, /* the instruction is a system call, and it sleeps */
};

/* How often the end of an instruction is asked for before its thread is. */
#define STEP_POLLS 64

static inline void stepper_stopped(pid_t tid, int status)
{
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		tap_bail("thread %d: status %x instead of a stop", tid, status);
}

/* stepper_seize - trace a running thread: 0, or negative errno */
static inline int stepper_seize(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_EXITKILL) ? -errno : 0;
}

/* stepper_let_go - the thread runs on, and is not traced any more */
static inline void stepper_let_go(pid_t tid)
{
	if (ptrace(PTRACE_DETACH, tid, NULL, NULL))
		tap_bail("thread %d: PTRACE_DETACH: %s", tid, strerror(errno));
}

/* step_wait - wait for the end of a step that was found asleep, or for sleep */
static inline enum step step_wait(pid_t tid)
{
	int64_t deadline = blocked_deadline();
	int status;

	while (blocked_now_ns() < deadline) {
		for (int i = 0; i < STEP_POLLS; i++) {
			pid_t pid = waitpid(tid, &status, __WALL | WNOHANG);

			if (pid == tid) {
				stepper_stopped(tid, status);
				return STEP_DONE;
			}
			sched_yield();
		}
		if (blocked_in_futex(tid, tid, NULL) > 0)
			return STEP_ASLEEP;
	}
	tap_bail("thread %d: an instruction does not end", tid);
}

/* stepper_await - wait until a traced thread comes to stepper_stop_here() */
static inline void stepper_await(pid_t tid)
{
	while (step_wait(tid) == STEP_ASLEEP)
		;
}

static inline uintptr_t step_register(pid_t tid, size_t offset)
{
	errno = 0;
	return ptrace(PTRACE_PEEKUSER, tid, offset, NULL);
}

#ifdef __x86_64__

#define STEPPER_WORKS 1

/* stepper_stop_here - only in a thread that is traced */
static inline void stepper_stop_here(void)
{
	__asm__ volatile("int3" : : : "memory");
}

/* step_at - the address of the next instruction */
static inline uintptr_t step_at(pid_t tid)
{
	return step_register(tid, offsetof(struct user_regs_struct, rip));
}

static inline uintptr_t step_stack(pid_t tid)
{
	return step_register(tid, offsetof(struct user_regs_struct, rsp));
}

/* Is the next instruction "syscall", 0f 05? */
static inline bool step_enters_kernel(pid_t tid)
{
	long text = ptrace(PTRACE_PEEKTEXT, tid, step_at(tid), NULL);

	return (text & 0xffff) == 0x050f;
}

#else

#define STEPPER_WORKS 0

static inline void stepper_stop_here(void)
{
}

static inline uintptr_t step_at(pid_t tid)
{
	return tid;
}

static inline uintptr_t step_stack(pid_t tid)
{
	return tid;
}

static inline bool step_enters_kernel(pid_t tid)
{
	return tid;
}

#endif

/* step - one instruction further */
static inline enum step step(pid_t tid)
{
	bool may_sleep = step_enters_kernel(tid);
	int status;

	if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL))
		tap_bail("thread %d: PTRACE_SINGLESTEP: %s", tid,
			 strerror(errno));
	if (may_sleep)
		return step_wait(tid);
	if (waitpid(tid, &status, __WALL) != tid)
		tap_bail("thread %d: waitpid: %s", tid, strerror(errno));
	stepper_stopped(tid, status);
	return STEP_DONE;
}

#endif /* DROVER_SELFTESTS_STEPPER_H */
