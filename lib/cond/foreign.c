// SPDX-License-Identifier: MIT
/*
 * Foreign waiters: threads in glibc's own wait, on a condvar that is ours. They
 * count themselves in its flags, and sleep until there are signals for them in
 * the word where glibc has those of its first group; see struct cond.
 *
 * Which of them a signal should wake is not known, so it wakes them all: for
 * the others that is a spurious return.
 */
#include <stdio.h>

#include "cond/cond.h"

static void say_once(void)
{
	static atomic_bool said;

	if (!swap_relaxed(&said, true))
		fputs("drover: a thread waits in the C library's own pthread_cond_*wait(), which this library's signals wake spuriously; load what it is in without RTLD_DEEPBIND\n",
		      stderr);
}

/*
 * Who is late for its signal, because its deadline was earlier, leaves it to the
 * next one: that is a spurious return, too.
 */
static void give_signals(futex_word *signals, uint32_t nr)
{
	add_release(signals, 2 * nr);
	futex_wake(signals, INT_MAX, false);
}

bool cond_wake_special(struct cond *c, bool all)
{
	uint32_t nr = load_relaxed(&c->flags) / COND_FOREIGN;
	bool ours;

	if (cond_is_shared(c)) {
		cond_shared_wake(c, all, NULL);
		return true;
	}
	say_once();
	/* It stays glibc's, or ours, as long as we have this lock. */
	lock_take(&fork_lock);
	ours = load_relaxed(&c->generation);
	give_signals(&c->foreign_signals, nr);
	/* As long as it is all glibc's, its other group may be in use, too. */
	if (!ours)
		give_signals(&c->closed_high, nr);
	lock_drop(&fork_lock);
	return !ours;
}

/* As glibc's destroy does: the last of them wakes who set COND_DESTROYED. */
void cond_await_foreign(struct cond *c)
{
	uint32_t flags = or_relaxed(&c->flags, COND_DESTROYED);

	flags |= COND_DESTROYED;
	while (flags >= COND_FOREIGN) {
		futex_wait(&c->flags, flags, NULL, false);
		flags = load_acquire(&c->flags);
	}
}
