/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The condition variable, lib/cond/ without its shared ones: models that differ
 * in what the program in program.inc does. Defines say that.
 *
 * Waiters without deadline, signallers of any kind, with and without the mutex:
 *
 * @model signal -DWHOLE_MUTEX -DALIKE -DMAY_HOLD=3 -DMAY_NOT_HOLD=3
 *	-DNR_HANDLERS=1
 * @run
 * @twin SIGNAL_OPEN_FIRST return_was_owed: the younger group is served first
 * @twin quick NO_CLOSING return_was_owed: a signalled group is joined
 * @twin TWO_LOOKS no_signal_was_lost: at the open group, then at the closed
 * @twin KEEP_OPEN return_was_owed: a released group is joined
 * @twin WAKE_BEFORE_CHANGE nobody_unblocked_is_left: asleep after the wake-up
 * @twin WAKE_NONE_UNHELD nobody_unblocked_is_left: unlocked before the move
 * @twin LOOK_AT_MUTEX_LATE mutex_exists: after the release
 * @twin CHANGED_IS_DONE nobody_unblocked_is_left: EAGAIN taken for "all moved"
 * @twin SLICE_IS_ALL nobody_unblocked_is_left: the rest sleep on
 * @twin MEMBER_WITHOUT_REF no_signal_was_lost: its group is recycled under it
 *
 * Time may run out at any moment of a sleep:
 *
 * @model timeout -DTIMED=NR_WAITERS
 * @run
 * @twin quick NO_GROUP_LOCK no_signal_was_consumed_by_leaving: when chosen
 * @twin quick TIMEOUT_TAKES_SIGNAL no_signal_was_consumed_by_leaving: ETIMEDOUT
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked: leaves although signalled
 * @twin quick GROUP_LOCK_TAKEN_TWICE no_signal_was_consumed_by_leaving: the last one
 *	is about to leave
 *
 * Two groups at one broadcast: signals leave an older group with members. Any
 * group's word may change at any moment, as by a cancellation:
 *
 * @model two-groups -DCANCELS_ANY -DMAY_HOLD=2 -DMAY_NOT_HOLD=3 -DCALL=EACH
 * @run
 * @twin SECOND_GROUP_WAKE_NONE nobody_unblocked_is_left: behind nobody
 *
 * Threads that wait again, in a group that may be the one that they or others
 * have just left. The time of the first may run out:
 *
 * @model again -DWAITS_AGAIN -DTIMED=1 -DALIKE -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 *	-DCALL=SIGNAL
 * @run quick
 * @twin quick STALE_CLOSED return_was_owed: one group is both open and closed
 *
 * Waiters that come with different mutexes. Signallers hold the first, or none:
 *
 * @model mutexes -DNR_MUTEXES=2
 * @run
 * @twin FIRST_MUTEX_COUNTS nobody_moves_to_a_foreign_mutex: to the first's
 * @twin BEHIND_ANOTHER_MUTEX nobody_unblocked_is_left: behind the older
 *
 * Two condvars with a mutex each, and threads that go from one to the other:
 * groups are used again for the other condvar, under signallers that are slow
 * to finish with their last use, and under pointers that were left behind:
 *
 * @model recycle -DNR_GROUPS=4 -DNR_CONDS=2 -DNR_MUTEXES=2 -DWAITS_AGAIN
 *	-DTIMED=1 -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 * @run
 * @twin NO_PIN nobody_moves_to_a_foreign_mutex: a late requeue
 * @twin NO_OWNER_CHECK return_was_owed: the signal goes to another condvar
 * @twin NO_REF_CHECK recycled_once: a spare group is recycled again
 *
 * The mutex: waiters that were moved to it, and threads that know nothing of
 * condvars, which come at any moment and queue among them:
 *
 * @model chain -DFINE_MUTEX -DWHOLE_MUTEX -DCALL=EACH -DNR_LOCKERS=1
 * @run
 * @twin quick NO_MARK nobody_unblocked_is_left: those behind it are forgotten
 * @twin MOVED_READ_LATE nobody_sleeps_on_a_mutex: the group is new by then
 * @twin NO_PASS_WAKE nobody_sleeps_on_a_mutex: the wake-up is swallowed
 * @twin NO_SET_CONTENDED nobody_unblocked_is_left: the unlock wakes nobody
 * @twin SLEEPER_NO_MARK nobody_sleeps_on_a_mutex: the rest sleep on
 *
 * The same with a kernel that marks the mutex if it is held when waiters are moved
 * (DROVER_REQUEUE_MARK), by signallers that do not hold it:
 *
 * @model mark -DKERNEL_MARKS -DFINE_MUTEX -DWHOLE_MUTEX -DCALL=EACH
 *	-DNR_LOCKERS=1 -DTIMED=1 -DMAY_HOLD=0 -DMAY_NOT_HOLD=3
 * @run
 * @twin KERNEL_NO_MARK nobody_unblocked_is_left: the unlock wakes nobody
 * @twin LOOKS_FOR_NOBODY mutex_exists: those who would lock it have left
 *
 * Destroy, and the memory given back, as soon as POSIX permits: when all
 * waiters have been unblocked, whether or not they have returned, or have left,
 * and no call is under way but those that have unblocked somebody:
 *
 * @model destroy -DDESTROYS -DTIMED=1
 * @run
 * @twin DESTROY_NO_LOCK condvar_exists: the poster drops the lock later
 * @twin TOUCH_AFTER_UNLOCK condvar_exists: the signaller comes back to it
 * @twin MEMBER_TOUCHES_CONDVAR condvar_exists: when it has been moved
 *
 * GROUP_NO_SLEEPERS: members that poll before they sleep, and signallers that make no
 * system call as long as nobody sleeps. Any poll may end at any moment:
 *
 * @model polls -DPOLLS
 * @run
 * @run quick -DNR_WAITERS=2 -DTIMED=2
 * @run -DNR_WAITERS=2 -DCANCELS_ANY
 * @twin quick SLEEPS_AS_A_POLLER nobody_unblocked_is_left: taken for awake
 * @twin quick NO_LOOK_AFTER_CLEAR nobody_unblocked_is_left: posted before that
 * @twin SLEEPERS_READ_EARLY nobody_unblocked_is_left: it has fallen asleep since
 * @twin BEHIND_POLLERS nobody_unblocked_is_left: nobody is woken there
 *
 * A thread that ends in the middle of its wait, at any moment: it leaves the
 * signal that it was woken for to another member that can have it:
 *
 * @model end -DENDS
 * @run quick
 * @twin quick END_TAKES no_signal_was_consumed_by_leaving: as by timeout
 * @twin quick END_WAKES_NOBODY nobody_unblocked_is_left: with the token there
 *
 * One thread is cancelled, at any moment: wait_cancellable(), drop_in_cancel()
 * and cond_cancel():
 *
 * @model cancel -DCANCEL -DCALL=SIGNAL
 * @run
 * @twin CANCELLATION_READ_EARLY nobody_cancelled_is_left: before the word
 * @twin CANCELLATION_READ_ONLY_WHEN_WOKEN nobody_cancelled_is_left: or before
 * @twin CANCEL_WITHOUT_CHANGE nobody_cancelled_is_left: before the sleep
 * @twin CANCELLATION_SEEN_LATE nobody_cancelled_is_left: taken for an old one
 *
 * @model cancel-broadcast -DCANCEL -DCALL=EACH
 * @run long
 *
 * All features at once, with two waiters, one of which waits a second time:
 *
 * @model all -DNR_WAITERS=2 -DNR_LOCKERS=1 -DNR_HANDLERS=1 -DTIMED=2 -DCANCEL
 *	-DVICTIM=0 -DWAITS_AGAIN -DDESTROYS -DWHOLE_MUTEX -DCALL=EACH
 * @run long
 *
 * Progress: two waiters and a signaller that unblocks both. Under weak
 * fairness, a thread that can go on for ever does so some time, both return:
 *
 * @model progress -DLIVENESS -DNR_WAITERS=2 -DNR_SIGNALLERS=1 -DNR_GROUPS=2
 *	-DNR_HANDLERS=1 -DWHOLE_MUTEX -DCALL=BOTH -DMAY_NOT_HOLD=1
 * @run quick
 * @twin quick SLEEPER_NO_MARK acceptance_cycle: asleep for ever
 * @twin quick WAKE_BEFORE_CHANGE acceptance_cycle: asleep for ever
 */
#include "program.inc"
