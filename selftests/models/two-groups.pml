/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two groups at one broadcast: signals leave an older group with members, and a
 * broadcast meets it and the younger one. Somebody changes the word of a group
 * at any moment, as an interrupt does.
 *
 * @run
 * @twin SECOND_GROUP_WAKE_NONE nobody_unblocked_is_left: behind one that is
 *	gone
 */
#define INTERRUPTS_ANY
#define MAY_HOLD(t)	(t > NR_WAITERS)
#define MAY_NOT_HOLD(t)	true
#define CALL		EACH

#include "program.inc"
