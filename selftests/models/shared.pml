/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process-shared condvars, whose waiters are woken and not moved. The mutex
 * plays no part.
 *
 * @run
 * @run -DNR_WAITERS=2 -DTIMED=true
 * @run quick -DNR_WAITERS=2 -DDESTROYS
 * @run -DNR_WAITERS=2 -DENDS
 * @twin quick JOIN_WITH_TOKENS return_was_owed: a signalled group goes on to be
 *	joined
 * @twin NO_HELP nobody_unblocked_is_left: nobody ends a broadcast
 * @twin quick NO_RELEASING return_was_owed: a broadcast to
 *	one group after the other
 * @twin quick NO_NUMBER nobody_unblocked_is_left: released, and no token for it
 * @twin quick WORD_LOADED_LATE nobody_unblocked_is_left: after the state
 * @twin quick POST_SAME_WORD nobody_unblocked_is_left: asleep after the wake-up
 * @twin quick LEAVE_WITH_TOKENS somebody_is_blocked -DTIMED=true: though
 *	signalled
 * @twin quick WAITER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: a
 *	released waiter looks at it
 * @twin quick WAKER_NOT_COUNTED condvar_exists -DNR_WAITERS=2 -DDESTROYS: the
 *	signaller counts itself out
 * @twin LAST_DOES_NOT_WAKE invalid_end_state -DNR_WAITERS=2 -DDESTROYS:
 *	destroy sleeps on
 * @twin END_TAKES no_signal_was_consumed_by_leaving -DENDS: as
 *	who times out does
 * @twin END_WAKES_NOBODY nobody_unblocked_is_left -DENDS: the
 *	token is there for one that sleeps on
 */
#ifndef NR_WAITERS
#define NR_WAITERS	3
#endif
#ifndef NR_SIGNALLERS
#define NR_SIGNALLERS	2
#endif
#define NR_THREADS	(NR_WAITERS + 1)
#define NR_GROUPS	2

#ifdef DESTROYS
byte calls = NR_SIGNALLERS;
#define SPEC_EFFECT	calls--; effective = true
/* Others may do what the broadcaster has begun. */
#define SPEC_BROADCAST_EFFECT skip
#endif

#include "futex.inc"
#include "spec.inc"

#include "shared.inc"

proctype Waiter(byte t)
{
	MEMBER_LOCALS;

	shared_join(t);
	shared_sleep(t);
#ifdef ENDS
ended:	shared_ended(t);
#endif
out:	shared_leave(t)
}

proctype Signaller(byte s)
{
	WAKER_LOCALS;
#ifdef DESTROYS
	bool effective;
#endif

	atomic { signallers_started == s -> signallers_started++ }
	if
	:: shared_signal()
	:: shared_broadcast(s)
	fi;
out:
#ifdef DESTROYS
	if
	:: effective
	:: else -> calls--
	fi
#endif
	skip
}

#ifdef DESTROYS
/* As soon as that is legal; see destroy.pml. */
proctype Destroyer()
{
	byte seen;

end_early:
	joined == ALL_WAITERS && !calls && SPEC_ALL_UNBLOCKED(0);
	shared_destroy(false)
}
#endif

init
{
	atomic { run_shared() }
	atomic {
		timeout ->
		CHECK(nobody_unblocked_is_left, !spec_free && !spec_nr_owed[0])
	}
}
