// SPDX-License-Identifier: MIT
/*
 * Mutexes that inherit priorities. FUTEX_WAIT_REQUEUE_PI names the mutex when
 * the wait begins. FUTEX_CMP_REQUEUE_PI hands the mutex to the first sleeper of
 * highest priority, or queues that sleeper by priority if the mutex is taken. A
 * waiter whose call returns 0 has the mutex. Apart from that, only a POSIX
 * signal can wake such a sleeper. When the operations are refused, all members
 * are sent a signal: they look at the state of their group, and lock the mutex
 * as other threads do.
 *
 * The futex operations are Darren Hart's: "Requeue-PI: Making Glibc Condvars
 * PI-Aware", 2009.
 */
#include <signal.h>

#include "base/pause.h"
#include "cond/group.h"

/* Other C libraries have no signal that can wake sleepers: send_signal(). */
#ifdef __GLIBC__
atomic_bool pi_refused;
#else
atomic_bool pi_refused = true;
#endif

/* A kernel may lack the operations; a sandbox may refuse them from now on. */
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

	/*
	 * Can the kernel requeue, too? The call has a wrong value, so it moves
	 * nothing and only asks.
	 */
	if (!swap_relaxed(&asked, true))
		is_refused(futex_cmp_requeue_pi(&never, 1, 0, &target));
	if (!load_relaxed(&pi_refused))
		ret = futex_wait_for(sleeps_on, word, deadline, false, 0,
				     load_relaxed(&g->pi_target));
	if (!is_refused(ret))
		return ret;
	ret = futex_wait(sleeps_on, word, deadline, false);
	return ret == 0 ? -EINTR : ret; /* 0 would be the mutex */
}

/*
 * glibc keeps this signal for itself, to change the user of all threads. The
 * signal is never blocked. From the first pthread_create() on, the signal has a
 * handler, which ignores each signal that is not of the kind SI_TKILL.
 *
 * [W-PI] A thread may be about to sleep when requeue-PI is refused.
 *
 *	CPU 0: waits				CPU 1: wakes the members
 *
 *	store waiter.group = g			change the word
 *	full barrier				full barrier
 *	the kernel loads the word, compares	load waiter.group
 *
 * CPU 0 and CPU 1 cannot both load the old value. Otherwise the thread would
 * sleep for requeue-PI, and would be sent no signal.
 */
#define SIGNAL_SETXID 33

static void send_signal(struct waiter *w, void *group)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_pid = getpid() };

	if (load_seq_cst(&w->group) == group) /* [W-PI] */
		syscall(SYS_rt_tgsigqueueinfo, info.si_pid, w->tid,
			SIGNAL_SETXID, &info);
}

void cond_pi_wake(struct group *g, int nr)
{
	const uint64_t due = GROUP_RELEASED | GROUP_TOKENS;
	futex_word *word = LOW_HALF(&g->state);
	uint64_t state = load_relaxed(&g->state);
	int saved = errno;

	/*
	 * Repeat while a member may sleep although a token or a release is
	 * there.
	 */
	for (unsigned int i = 0; nr == INT_MAX || state & due; i++) {
		long ret = -EPERM;

		if (!load_relaxed(&pi_refused))
			ret = futex_cmp_requeue_pi(word, (uint32_t)state,
						   nr == INT_MAX ? INT_MAX : 0,
						   load_relaxed(&g->pi_target));
		/*
		 * Make all members leave their system calls. EINVAL: a member
		 * was refused meanwhile and sleeps as a plain waiter, and by
		 * now all of them may do so.
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
		 * word is not a lock's): no thread will ever get the mutex.
		 */
		if (ret != -EAGAIN && ret != -ENOMEM)
			return;
		/*
		 * Try again: the word has changed, a sleeper is just waking, or
		 * the holder is exiting. Every sleeper on the word waits for
		 * this mutex; otherwise the answer is EINVAL.
		 */
		thread_pause(i);
		state = load_relaxed(&g->state);
	}
}

/*
 * A thread that sends signals, in cond_pi_wake(), has the lock of the waiter's
 * bucket. After waiter_publish(), which takes that lock, no more signals are
 * sent. A signal that was sent is delivered at the end of a system call that
 * waits for nothing, because it must not end a poll() or nanosleep() of the
 * program's.
 */
void cond_pi_leave(struct waiter *w)
{
	waiter_publish(w, NULL);
	syscall(SYS_gettid);
}
