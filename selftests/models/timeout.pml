/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timeouts: time may run out at any moment of a sleep.
 *
 * @run
 * @twin quick NO_CLAIM no_signal_was_consumed_by_leaving: left after the
 *	choice
 * @twin quick TIMEOUT_TAKES_SIGNAL no_signal_was_consumed_by_leaving:
 *	ETIMEDOUT
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked: leaves although signalled
 */
#define TIMED(t)	true

#include "program.inc"
