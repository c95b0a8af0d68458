/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destroy, and the memory given back, as soon as POSIX permits: when all
 * waiters have been unblocked, whether or not they have returned, or have left,
 * and no call is under way but those that have unblocked somebody. The time of
 * the first waiter may run out.
 *
 * @run
 * @twin DESTROY_NO_LOCK condvar_exists: the poster drops the lock when the
 *	last has left
 * @twin TOUCH_AFTER_UNLOCK condvar_exists: the signaller comes back to it
 * @twin MEMBER_TOUCHES_CONDVAR condvar_exists: when it has been moved
 */
#define DESTROYS
#define TIMED(t)	(t == 0)

#include "program.inc"
