/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals and broadcasts: waiters without deadline, signallers of any kind,
 * with and without the mutex held.
 *
 * @run
 * @run -DTWO_LOOKS
 * @run -DNO_REQUEUE
 * @run -DNR_HANDLERS=1
 * @twin SIGNAL_OPEN_FIRST return_was_owed: the younger group is served first
 * @twin quick NO_CLOSING return_was_owed: a signalled group goes on to be
 *	joined
 * @twin OPEN_BEFORE_CLOSED nobody_was_overlooked -DTWO_LOOKS: [CV-EMPTY]
 * @twin TWO_LOOKS no_signal_was_lost: the looks are of different times
 * @twin KEEP_OPEN return_was_owed: a released group is joined
 * @twin WAKE_BEFORE_CHANGE nobody_unblocked_is_left: asleep after the wake-up
 * @twin WAKE_NONE_UNHELD nobody_unblocked_is_left: unlocked before the move
 * @twin WAKE_NONE_FREE nobody_unblocked_is_left: moved to a free mutex
 * @twin LOOK_AT_MUTEX_LATE mutex_exists: after the release
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN taken for "all moved"
 * @twin REFUSED_IS_DONE nobody_unblocked_is_left -DNO_REQUEUE: ENOSYS likewise
 * @twin MEMBER_WITHOUT_REF no_signal_was_lost: its group is recycled under it
 */
#define WHOLE_MUTEX
#define ALIKE
#define MAY_HOLD(t)	true
#define MAY_NOT_HOLD(t)	true

#include "program.inc"
