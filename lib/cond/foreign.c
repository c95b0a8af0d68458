// SPDX-License-Identifier: MIT
/*
 * Foreign waiters: threads that wait in glibc's own wait on a condvar that the
 * drop-in has replaced. Code that was loaded with RTLD_DEEPBIND calls glibc's
 * wait instead of the drop-in's. A thread in that wait must neither hang nor do
 * harm. The layout of struct cond ensures that the stores of glibc's wait do
 * not harm the condvar (cond.h).
 */
#include "base/fork.h"
#include "base/say.h"
#include "cond/group.h"

/* cond_lock() sets the generation; glibc's own wait does not. */
bool foreign_alone(struct cond *c)
{
	return !load_relaxed(&c->generation);
}

/*
 * Wait as glibc's destroy does: the last foreign waiter to leave sees
 * COND_DESTROYED, and wakes this thread.
 */
void foreign_destroy(struct cond *c)
{
	/* After a fork, the foreign waiters have stayed in the parent. */
	if (load_acquire(&c->generation))
		cond_drop_stale(c);
	if (load_relaxed(&c->flags) & COND_SPECIAL)
		cond_await_flags(c, ~(COND_FOREIGN - 1));
}

/*
 * The library does not know which foreign waiter a signal should wake, so a
 * signal wakes all of them, and all but one return spuriously. A waiter that
 * timed out meanwhile leaves its two signals to the next waiter, whose return
 * is then spurious, too.
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
	/* With this lock held, cond_drop_stale() does not change the answer. */
	lock_take(&wiped.lock);
	alone = foreign_alone(c);
	give_signals(&c->foreign_signals, nr);
	/* Foreign threads alone may also wait in glibc's other group. */
	if (alone)
		give_signals(&c->closed_high, nr);
	lock_drop(&wiped.lock);
	return !alone;
}
