// SPDX-License-Identifier: MIT
/*
 * Foreign waiters: threads that wait in glibc's own wait on a condvar that the
 * drop-in has replaced. Code calls that wait past the drop-in if it was loaded
 * with RTLD_DEEPBIND. Such a thread must neither hang nor do harm. struct cond
 * is laid out so that what glibc's wait writes is nothing of ours (cond.h).
 */
#include "base/fork.h"
#include "base/say.h"
#include "cond/group.h"

/* As long as it is all glibc's, no thread has set its generation. */
bool foreign_alone(struct cond *c)
{
	return !load_relaxed(&c->generation);
}

/*
 * As glibc's destroy does: the last foreign waiter to leave sees
 * COND_DESTROYED, and wakes this thread.
 */
void foreign_destroy(struct cond *c)
{
	uint32_t flags;

	/* After a fork, the foreign waiters have stayed in the parent. */
	if (load_acquire(&c->generation))
		cond_drop_stale(c);
	if (!(load_relaxed(&c->flags) & COND_SPECIAL))
		return;
	flags = or_relaxed(&c->flags, COND_DESTROYED) | COND_DESTROYED;
	while (flags >= COND_FOREIGN) {
		futex_wait(&c->flags, flags, NULL, false);
		flags = load_acquire(&c->flags);
	}
}

/*
 * It is not known which foreign waiter a signal should wake, so the signal
 * wakes all of them: the others return spuriously. A waiter whose deadline has
 * passed meanwhile leaves its two signals to the next one, who returns
 * spuriously, too.
 */
static void give_signals(futex_word *signals, uint32_t nr)
{
	add_release(signals, 2 * nr);
	futex_wake(signals, INT_MAX, false);
}

bool foreign_wake(struct cond *c)
{
	uint32_t nr = load_relaxed(&c->flags) / COND_FOREIGN;
	static atomic_bool said;
	bool alone;

	if (!swap_relaxed(&said, true))
		say("drover: a thread waits in the C library's own pthread_cond_*wait(), which this library's signals wake spuriously; load what it is in without RTLD_DEEPBIND\n");
	/* As long as we have this lock, the answer stays the same. */
	lock_take(&wiped.lock);
	alone = foreign_alone(c);
	give_signals(&c->foreign_signals, nr);
	/* As long as it is all glibc's, its other group may be in use, too. */
	if (alone)
		give_signals(&c->closed_high, nr);
	lock_drop(&wiped.lock);
	return !alone;
}
