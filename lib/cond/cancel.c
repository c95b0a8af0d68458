// SPDX-License-Identifier: MIT
/* Getting a thread out of its sleep for another reason than a signal. */
#include <signal.h>

#include "cond/cond.h"

/* With the lock that keeps @w and a shared word in use. */
static void interrupt(struct waiter *w, void *arg)
{
	struct waiter *found = arg;

	add_seq_cst(&w->interrupts, 1); /* [W-CANCEL] [W-SEEN] */
	store_relaxed(&found->group, load_seq_cst(&w->group));
	found->bit = w->bit;
	if (w->shared_word) {
		add_release(w->shared_word, 1); /* [W-WORD] */
		futex_wake_bits(w->shared_word, true, w->bit);
	}
}

void group_interrupt(struct group *g, uint32_t bits)
{
	uint64_t state = load_relaxed(&g->state);
	uint64_t to;

	do {
		to = (state + GROUP_INTERRUPT) & GROUP_INTERRUPTS;
		to |= state & ~GROUP_INTERRUPTS;
	} while (!cas_acq_rel(&g->state, &state, to)); /* [W-WORD] */
	if (load_relaxed(&g->pi_target))
		cond_pi_wake(g, INT_MAX);
	else
		futex_wake_bits(LOW_HALF(&g->state), false, bits);
}

void cond_interrupt(pthread_t thread)
{
	struct waiter found = { 0 };
	struct group *g;

	waiter_with(thread, interrupt, &found);
	g = load_relaxed(&found.group);
	/* It may be in other use by now, where an interrupt does no harm. */
	if (g)
		group_interrupt(g, found.bit);
}

/*
 * The signal that glibc keeps for itself to change the user of all threads. It
 * is never blocked, and has a handler as soon as there is a second thread, which
 * ignores what it was not sent for: all but SI_TKILL.
 */
#define SIGNAL_SETXID 33

static bool signal_is_handled(void)
{
	/* As the kernel has it: the handler comes first. */
	uintptr_t action[8] = { 0 };

	return !syscall(SYS_rt_sigaction, SIGNAL_SETXID, NULL, action, 8) &&
	       action[0] != (uintptr_t)SIG_DFL &&
	       action[0] != (uintptr_t)SIG_IGN;
}

static void send_signal(struct waiter *w, void *group)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_pid = getpid() };

	if (load_seq_cst(&w->group) == group)
		syscall(SYS_rt_tgsigqueueinfo, info.si_pid, w->tid,
			SIGNAL_SETXID, &info);
}

void cond_interrupt_group(struct group *g)
{
	int saved = errno;

	if (signal_is_handled()) {
		add_seq_cst(&g->state, 0); /* [W-INTERRUPT] */
		waiter_for_all(send_signal, g);
	}
	errno = saved;
}
