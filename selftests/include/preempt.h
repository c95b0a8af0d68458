/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preempt.h - stop a thread after any one of its instructions
 *
 *	for (long nr = 1; preempt_after(nr, signal, others_act, &arg); nr++)
 *		check(&arg);
 *
 * runs signal(arg) again and again, and others_act(arg) once in the midst of
 * it: after the first instruction in the first round, after the second in the
 * second. So what an unlucky scheduler can do with one preemption is not left
 * to chance. The CPU's trap flag makes every instruction raise SIGTRAP; the
 * handler of the chosen one is where the others act.
 */
#ifndef DROVER_SELFTESTS_PREEMPT_H
#define DROVER_SELFTESTS_PREEMPT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#include "tap.h"

#if defined(__x86_64__)

#define PREEMPT_POSSIBLE  1
#define PREEMPT_TRAP_FLAG 0x100

/* Of the one thread that is stopped. */
static struct {
	long left;
	void (*meanwhile)(void *arg);
	void *arg;
	bool done;
} preempt;

static inline void preempt_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if (--preempt.left > 0)
		return;
	regs[REG_EFL] &= ~PREEMPT_TRAP_FLAG;
	if (preempt.left == 0) {
		preempt.done = true;
		preempt.meanwhile(preempt.arg);
	}
}

static inline void preempt_trap(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */
			 "pushfq\n\t"
			 "orl %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(PREEMPT_TRAP_FLAG)
			 : "memory", "cc");
}

static inline void preempt_trap_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andl %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(~PREEMPT_TRAP_FLAG)
			 : "memory", "cc");
}

/*
 * preempt_after - call @call, and @meanwhile after its @nr-th instruction
 *
 * Returns false if @call had no more than @nr instructions; @meanwhile has not
 * been called then.
 */
static inline bool preempt_after(long nr, void (*call)(void *arg),
				 void (*meanwhile)(void *arg), void *arg)
{
	const struct sigaction action = {
		.sa_sigaction = preempt_step,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(SIGTRAP, &action, NULL);
	preempt.left = nr;
	preempt.meanwhile = meanwhile;
	preempt.arg = arg;
	preempt.done = false;
	preempt_trap();
	call(arg);
	preempt_trap_end();
	return preempt.done;
}

#else /* no trap flag that a program can set */

#define PREEMPT_POSSIBLE 0

static struct {
	bool done;
} preempt;

static inline void preempt_trap_end(void)
{
}

static inline bool preempt_after(long nr, void (*call)(void *arg),
				 void (*meanwhile)(void *arg), void *arg)
{
	(void)nr;
	(void)call;
	(void)meanwhile;
	(void)arg;
	return false;
}

#endif

#endif /* DROVER_SELFTESTS_PREEMPT_H */
