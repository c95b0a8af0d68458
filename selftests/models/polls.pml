/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GROUP_AWAKE: members that poll for their signal before they sleep, and
 * signallers that make no system call as long as nobody sleeps. Any poll may
 * end at any moment, and so may any wait.
 *
 * @run
 * @run quick -DNR_WAITERS=2 -DMAY_TIME_OUT
 * @run -DNR_WAITERS=2 -DINTERRUPTS_ANY
 * @twin quick SLEEPS_AWAKE nobody_unblocked_is_left: asleep, and taken for
 *	awake
 * @twin quick NO_LOOK_AFTER_CLEAR nobody_unblocked_is_left: it was posted to
 *	before it cleared the bit
 * @twin AWAKE_READ_EARLY nobody_unblocked_is_left: it has fallen asleep since
 * @twin BEHIND_THE_AWAKE nobody_unblocked_is_left: moved to a word that nobody
 *	is woken on
 */
#define POLLS
#ifdef MAY_TIME_OUT
#define TIMED(t)	true
#endif

#include "program.inc"
