/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that ends in the middle of its wait, at any moment: member_ended()
 * and group_leave(). It leaves the signal that it was woken for to another member,
 * if there is one that can have it.
 *
 * @run quick
 * @twin quick END_TAKES no_signal_was_consumed_by_leaving: as who times out
 *	does
 * @twin quick END_WAKES_NOBODY nobody_unblocked_is_left: the token is there
 *	for one that sleeps on
 * @twin quick NO_CLAIM no_signal_was_consumed_by_leaving: left after the
 *	choice
 */
#define ENDS(t)		(t == 0)

#include "program.inc"
