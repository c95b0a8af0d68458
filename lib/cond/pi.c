// SPDX-License-Identifier: MIT
/*
 * Mutexes that inherit priorities: FUTEX_WAIT_REQUEUE_PI names the mutex when the
 * wait begins, and FUTEX_CMP_REQUEUE_PI hands it to the first sleeper of highest
 * priority, or queues him by priority if it is taken. A waiter that returns 0
 * has the mutex. Nothing else can wake such a sleeper but a POSIX signal: when
 * the operations are refused, all members get one, see what has happened to
 * their group, and lock the mutex as others do.
 *
 * The futex operations are Darren Hart's: "Requeue-PI: Making Glibc Condvars
 * PI-Aware", 2009.
 */
#include <signal.h>

#include "cond/group.h"

/* Other C libraries have no signal that gets sleepers going: send_signal(). */
#ifdef __GLIBC__
atomic_bool pi_refused;
#else
atomic_bool pi_refused = true;
#endif

/* By a kernel without them, or a sandbox, which may come later. */
static bool is_refused(long ret)
{
	if (ret != -EPERM && ret != -ENOSYS)
		return false;
	store_relaxed(&pi_refused, true);
	return true;
}

long cond_pi_wait(struct group *g, uint32_t word,
		  const struct deadline *deadline)
{
	static futex_word never, target;
	static atomic_bool asked;
	futex_word *sleeps_on = LOW_HALF(&g->state);
	long ret = -EPERM;

	/* Is there the other half of it, too? Asked for a wrong value. */
	if (!load_relaxed(&asked))
		is_refused(futex_cmp_requeue_pi(&never, 1, 0, &target));
	store_relaxed(&asked, true);
	if (!load_relaxed(&pi_refused))
		ret = futex_wait_for(sleeps_on, word, deadline, false, 0,
				     load_relaxed(&g->pi_target));
	if (!is_refused(ret))
		return ret;
	ret = futex_wait(sleeps_on, word, deadline, false);
	return ret == 0 ? -EINTR : ret; /* 0 would be the mutex */
}

/*
 * The signal that glibc keeps for itself to change the user of all threads. It
 * is never blocked, and has a handler from the first pthread_create() on, which
 * ignores what it was not sent for: all but SI_TKILL.
 */
#define SIGNAL_SETXID 33

static void send_signal(struct waiter *w, void *group)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_pid = getpid() };

	if (load_seq_cst(&w->group) == group)
		syscall(SYS_rt_tgsigqueueinfo, info.si_pid, w->tid,
			SIGNAL_SETXID, &info);
}

void cond_pi_wake(struct group *g, int nr)
{
	const uint64_t due = GROUP_RELEASED | GROUP_TOKENS;
	futex_word *word = LOW_HALF(&g->state);
	uint64_t state = load_relaxed(&g->state);
	int saved = errno;

	/* Does anybody still need what was posted or released? */
	for (unsigned int i = 0; nr == INT_MAX || state & due; i++) {
		long ret = -EPERM;

		if (!load_relaxed(&pi_refused))
			ret = futex_cmp_requeue_pi(word, (uint32_t)state,
						   nr == INT_MAX ? INT_MAX : 0,
						   load_relaxed(&g->pi_target));
		/*
		 * Take all out of their system call. EINVAL: one that was
		 * refused meanwhile waits plainly, as all may do by now.
		 */
		if (is_refused(ret) || ret == -EINVAL) {
			futex_wake(word, INT_MAX, false);
			add_seq_cst(&g->state, 0); /* [W-PI] */
			waiter_for_all(send_signal, g);
			errno = saved;
			return;
		}
		/*
		 * Other errors are about the mutex (its holder is dead, its
		 * word is not a lock's): nobody will ever get it.
		 */
		if (ret != -EAGAIN && ret != -ENOMEM)
			return;
		/*
		 * The word has changed, a sleeper is just waking, or the
		 * holder is exiting. What is on the word waits for this
		 * mutex, or the answer is EINVAL.
		 */
		thread_pause(i);
		state = load_relaxed(&g->state);
	}
}
