/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preempt.h - stop a thread after any one of its instructions
 *
 * A preemption at an unlucky moment is not left to chance: the CPU's trap flag
 * makes every instruction raise SIGTRAP, and other threads act while the
 * handler runs that follows the chosen instruction.
 */
#pragma once

#include <stddef.h>
#include <ucontext.h>

#include "blocked.h"
#include "run.h"

#if defined(__x86_64__)

#define PREEMPT_POSSIBLE  1
#define PREEMPT_TRAP_FLAG 0x100

/* The state of the one thread that is stopped. */
static struct {
	long left;
	void (*meanwhile)(void *arg);
	void *arg;
	bool done;
} preempt;

static inline void preempt_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (--preempt.left > 0)
		return;
	regs[REG_EFL] &= ~PREEMPT_TRAP_FLAG;
	if (preempt.left == 0) {
		int error = errno;

		preempt.done = true;
		preempt.meanwhile(preempt.arg);
		errno = error;
	}
}

#define PREEMPT_FLAGS(instruction, flags)                                \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */ \
			 "pushfq\n\t" instruction " %0, (%%rsp)\n\t"     \
			 "popfq\n\t"                                     \
			 "lea 128(%%rsp), %%rsp"                         \
			 :                                               \
			 : "i"(flags)                                    \
			 : "memory", "cc")

static inline void preempt_trap_end(void)
{
	PREEMPT_FLAGS("andl", ~PREEMPT_TRAP_FLAG);
}

/*
 * preempt_after - call @call, and @meanwhile after its @nr-th instruction
 *
 * Return: false if @call had at most @nr instructions; @meanwhile was not
 * called then.
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
	PREEMPT_FLAGS("orl", PREEMPT_TRAP_FLAG);
	call(arg);
	preempt_trap_end();
	return preempt.done;
}

#else /* a program cannot set a trap flag */

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
	return false;
}

#endif

/*
 * Two threads, of which the caller is stopped
 *
 * The other thread runs until it has finished or sleeps, because it may need a
 * lock that the caller holds. Then the caller goes on. If the caller falls
 * asleep before the instruction at which it would be stopped, the other thread
 * acts at that moment.
 */

/*
 * Instructions are not tried in order: first every 16th, and then those between
 * them.
 */
#define EVERYWHERE_STRIDE 16

/*
 * The caller goes on if the other thread neither ends nor sleeps for so long.
 */
static atomic_int everywhere_spin_ms = 20;

struct actor {
	void (*act)(void *unused);
	pthread_t thread;
	atomic_int tid; /* 0 until the thread acts */
	atomic_bool go;
	atomic_bool done;
	long nr; /* after which instruction it is stopped */
};

static struct actor caller, other;

static inline void *other_thread(void *arg)
{
	while (!other.go && (!caller.tid || caller.done ||
			     blocked_in_futex(getpid(), caller.tid, NULL) != 1))
		sched_yield();
	other.tid = blocked_gettid();
	other.act(NULL);
	other.done = true;
	return arg;
}

/*
 * thread_settled - wait until thread @tid has set @done or sleeps in futex
 *
 * A thread that spins for the stopped one does neither, so the function waits
 * only for everywhere_spin_ms.
 */
static inline void thread_settled(atomic_int *tid, atomic_bool *done)
{
	int64_t deadline = blocked_now_ns() + everywhere_spin_ms * NS_PER_MS;

	while (!atomic_load(done) && blocked_now_ns() < deadline) {
		if (atomic_load(tid) &&
		    blocked_in_futex(getpid(), atomic_load(tid), NULL) == 1)
			return;
		sched_yield();
	}
}

/*
 * Runs in the signal handler of the stopped thread. A cancellation of this
 * thread must not act in the handler.
 */
static inline void other_acts(void *arg)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	other.go = true;
	thread_settled(&other.tid, &other.done);
	pthread_setcancelstate(state, &state);
}

static inline void caller_ends(void *arg)
{
	preempt_trap_end();
	caller.done = true;
}

/* The thread may be cancelled in its call. */
static inline void *caller_thread(void *arg)
{
	while (!caller.go)
		sched_yield();
	pthread_cleanup_push(caller_ends, NULL);
	caller.tid = blocked_gettid();
	preempt_after(caller.nr, caller.act, other_acts, NULL);
	pthread_cleanup_pop(1);
	return arg;
}

static inline void actor_start(struct actor *actor, void *(*run)(void *),
			       void (*act)(void *unused), long nr)
{
	actor->act = act;
	actor->nr = nr;
	actor->tid = 0;
	actor->go = false;
	actor->done = false;
	start_thread(&actor->thread, run, NULL);
}
