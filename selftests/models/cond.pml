/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The condition variable, lib/cond/ without shared condvars. The models differ
 * in the program of program.inc, which the defines choose.
 *
 * Waiters without a deadline, and signallers of any kind, with and without the
 * mutex:
 *
 * @model signal -DWHOLE_MUTEX -DALIKE -DMAY_HOLD=3 -DMAY_NOT_HOLD=3
 *	-DNR_HANDLERS=1
 * @run
 * @twin SIGNAL_OPEN_FIRST return_was_owed: the younger group is served first
 * @twin quick NO_CLOSING return_was_owed: a newcomer joins a signalled group
 * @twin TWO_LOOKS no_signal_was_lost: the groups change between the two looks
 * @twin KEEP_OPEN return_was_owed: a newcomer joins a released group
 * @twin WAKE_BEFORE_CHANGE nobody_unblocked_is_left: a member falls asleep
 *	after the wake-up
 * @twin WAKE_NONE_UNHELD nobody_unblocked_is_left: the mutex is unlocked before
 *	the move
 * @twin LOOK_AT_MUTEX_LATE mutex_exists: the mutex is read after the release
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN is taken for "all
 *	moved"
 * @twin SLICE_IS_ALL nobody_unblocked_is_left: members behind the first slice
 *	sleep on
 * @twin MEMBER_WITHOUT_REF no_signal_was_lost: a member's group is recycled
 *
 * A waiter's time may run out at any moment of its sleep:
 *
 * @model timeout -DTIMED=NR_WAITERS
 * @run
 * @twin quick NO_GROUP_LOCK no_signal_was_consumed_by_leaving: a member leaves
 *	that a signaller has chosen
 * @twin quick TIMEOUT_TAKES_SIGNAL no_signal_was_consumed_by_leaving: a member
 *	takes a signal and returns ETIMEDOUT
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked: a member leaves although
 *	it was signalled
 * @twin quick GROUP_LOCK_TAKEN_TWICE no_signal_was_consumed_by_leaving: the
 *	last member is about to leave
 *
 * A broadcast to two groups, because signals have left members in an older
 * group. The word of any group may change at any moment, as by a cancellation:
 *
 * @model two-groups -DCANCELS_ANY -DMAY_HOLD=2 -DMAY_NOT_HOLD=3 -DCALL=EACH
 * @run
 * @twin SECOND_GROUP_WAKE_NONE nobody_unblocked_is_left: the second group is
 *	moved behind no waiter
 *
 * Threads that wait again, possibly in the group that they or others have just
 * left. The time of the first thread may run out:
 *
 * @model again -DWAITS_AGAIN -DTIMED=1 -DALIKE -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 *	-DCALL=SIGNAL
 * @run quick
 * @twin quick STALE_CLOSED return_was_owed: one group is both open and closed
 *
 * Waiters with different mutexes. Signallers hold the first mutex, or none:
 *
 * @model mutexes -DNR_MUTEXES=2
 * @run
 * @twin FIRST_MUTEX_COUNTS nobody_moves_to_a_foreign_mutex: a waiter is moved
 *	to the first waiter's mutex
 * @twin BEHIND_ANOTHER_MUTEX nobody_unblocked_is_left: a group is moved behind
 *	an older one with another mutex
 *
 * Two condvars with a mutex each, and threads that go from one to the other. A
 * group is used again for the other condvar, while a slow signaller may not
 * have finished with its last use, and an old pointer may still lead to it:
 *
 * @model recycle -DNR_GROUPS=4 -DNR_CONDS=2 -DNR_MUTEXES=2 -DWAITS_AGAIN
 *	-DTIMED=1 -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 * @run
 * @twin NO_PIN nobody_moves_to_a_foreign_mutex: a requeue comes late
 * @twin NO_OWNER_CHECK return_was_owed: the signal goes to another condvar
 * @twin NO_REF_CHECK recycled_once: a spare group is recycled again
 *
 * The mutex: waiters that were moved to it, and threads that use no condvar,
 * which come at any moment and queue among the waiters:
 *
 * @model chain -DFINE_MUTEX -DWHOLE_MUTEX -DCALL=EACH -DNR_LOCKERS=1
 * @run
 * @twin quick NO_MARK nobody_unblocked_is_left: the waiters behind a moved one
 *	are forgotten
 * @twin MOVED_READ_LATE nobody_sleeps_on_a_mutex: the group is in use again
 * @twin NO_PASS_WAKE nobody_sleeps_on_a_mutex: a moved waiter swallows a
 *	wake-up
 * @twin NO_SET_CONTENDED nobody_unblocked_is_left: the unlock wakes no thread
 * @twin SLEEPER_NO_MARK nobody_sleeps_on_a_mutex: the other sleepers sleep on
 *
 * The same with a kernel that marks the mutex if it is held when waiters are
 * moved (DROVER_REQUEUE_MARK). The signallers do not hold it:
 *
 * @model mark -DKERNEL_MARKS -DFINE_MUTEX -DWHOLE_MUTEX -DCALL=EACH
 *	-DNR_LOCKERS=1 -DTIMED=1 -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 * @run
 * @twin KERNEL_NO_MARK nobody_unblocked_is_left: the unlock wakes no thread
 * @twin LOOKS_FOR_NOBODY mutex_exists: no waiter is left, and the mutex is gone
 *
 * The condvar is destroyed and its memory given back as soon as POSIX permits:
 * when all waiters have left or been unblocked, whether they have returned or
 * not, and each call that still runs has unblocked a waiter:
 *
 * @model destroy -DDESTROYS -DTIMED=1
 * @run
 * @twin DESTROY_NO_LOCK condvar_exists: a signaller drops the lock later
 * @twin TOUCH_AFTER_UNLOCK condvar_exists: a signaller reads the condvar again
 * @twin MEMBER_TOUCHES_CONDVAR condvar_exists: a moved member reads the condvar
 *
 * GROUP_NO_SLEEPERS: members poll before they sleep, and signallers make no
 * system call as long as no member sleeps. Any poll may end at any moment:
 *
 * @model polls -DPOLLS
 * @run
 * @run quick -DNR_WAITERS=2 -DTIMED=2
 * @run -DNR_WAITERS=2 -DCANCELS_ANY
 * @twin quick SLEEPS_AS_A_POLLER nobody_unblocked_is_left: a sleeper is taken
 *	for awake
 * @twin quick NO_LOOK_AFTER_CLEAR nobody_unblocked_is_left: the signal came
 *	before the bit was cleared
 * @twin SLEEPERS_READ_EARLY nobody_unblocked_is_left: a member has fallen
 *	asleep since the bit was read
 * @twin BEHIND_POLLERS nobody_unblocked_is_left: sleepers are moved to a group
 *	of which no member is woken
 *
 * A thread ends in the middle of its wait, at any moment. It leaves the signal
 * by which it was woken to another member that can take it:
 *
 * @model end -DENDS
 * @run quick
 * @twin quick END_TAKES no_signal_was_consumed_by_leaving: the thread takes the
 *	signal with it
 * @twin quick END_WAKES_NOBODY nobody_unblocked_is_left: the token stays, and
 *	no member is woken for it
 *
 * One thread is cancelled, at any moment: wait_cancellable(), drop_in_cancel()
 * and cond_cancel():
 *
 * @model cancel -DCANCEL -DCALL=SIGNAL
 * @run
 * @twin CANCELLATION_READ_EARLY nobody_cancelled_is_left: a cancellation comes
 *	before the thread reads the word
 * @twin CANCELLATION_READ_ONLY_WHEN_WOKEN nobody_cancelled_is_left: a
 *	cancellation comes before the first sleep
 * @twin CANCEL_WITHOUT_CHANGE nobody_cancelled_is_left: a thread falls asleep
 *	after the wake-up
 * @twin CANCELLATION_SEEN_LATE nobody_cancelled_is_left: a new cancellation is
 *	taken for an old one
 *
 * @model cancel-broadcast -DCANCEL -DCALL=EACH
 * @run long
 *
 * All features at once, with two waiters, of which one waits a second time:
 *
 * @model all -DNR_WAITERS=2 -DNR_LOCKERS=1 -DNR_HANDLERS=1 -DTIMED=2 -DCANCEL
 *	-DVICTIM=0 -DWAITS_AGAIN -DDESTROYS -DWHOLE_MUTEX -DCALL=EACH
 * @run long
 *
 * Progress: two waiters, and a signaller that unblocks both. Both return under
 * weak fairness, which means that a thread that stays able to go on does so
 * some time:
 *
 * @model progress -DLIVENESS -DNR_WAITERS=2 -DNR_SIGNALLERS=1 -DNR_GROUPS=2
 *	-DNR_HANDLERS=1 -DWHOLE_MUTEX -DCALL=BOTH -DMAY_NOT_HOLD=1
 * @run quick
 * @twin quick SLEEPER_NO_MARK acceptance_cycle: a waiter sleeps for ever
 * @twin quick WAKE_BEFORE_CHANGE acceptance_cycle: a waiter sleeps for ever
 */
#include "program.inc"
