/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars, whose waiters are woken and not moved. The mutex
 * plays no part.
 *
 * @run quick
 * @run -DTIMED=true
 * @twin quick NO_CLOSING return_was_owed: a signalled group goes on to be
 *	joined
 * @twin NO_NUMBER nobody_unblocked_is_left: released, and no token for it
 * @twin quick WAITER_NOT_COUNTED condvar_exists: a released waiter looks at it
 * @twin WAKER_NOT_COUNTED condvar_exists: the signaller counts itself out
 * @twin LAST_DOES_NOT_WAKE invalid_end_state: destroy sleeps on
 * @twin RELEASE_SAME_WORD nobody_unblocked_is_left: asleep after the wake-up
 * @twin POST_SAME_WORD nobody_unblocked_is_left: asleep after the wake-up
 * @twin LEAVE_WITH_TOKENS somebody_is_blocked -DTIMED=true: though signalled
 */
#define NR_WAITERS	3
#define NR_SIGNALLERS	2
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true

#include "futex.inc"
#include "spec.inc"
#include "shared.inc"

proctype Waiter(byte t)
{
	SHARED_LOCALS;

	atomic {
		waiters_started == t ->
		waiters_started++;
		shared_join(t)
	}
	do
	:: shared_futex_wait(t);
		atomic { shared_look(t) }
	od
}

proctype Signaller(byte s)
{
	WAKER_LOCALS;
	bool effective, wakes;

	if
	:: atomic {
		signallers_started == s ->
		signallers_started++;
		shared_signal_section()
	   }
	:: atomic {
		signallers_started == s ->
		signallers_started++;
		shared_broadcast_section()
	   }
	fi;
	if
	:: effective
	:: else -> calls--
	fi;
	if
	:: wakes -> shared_wake()
	:: else
	fi
}

/* Destroys as soon as that is legal; see destroy.pml. */
proctype Destroyer()
{
	byte seen;

end_early:
	waiters_started == NR_WAITERS && !calls && SPEC_ALL_UNBLOCKED(0);
	shared_destroy(false)
}

init
{
	atomic { run_shared() }
	atomic {
		timeout ->
		CHECK(nobody_unblocked_is_left, !spec_free && !spec_nr_owed[0])
	}
}
