/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lock of a claimed group, struct group's claim: group_claim(),
 * group_unblock() and group_leave(), which waits for it. The
 * other models have no such lock: there nobody can leave a claimed group, and
 * that is what this shows.
 *
 * Members of one group, whose time has run out, and signallers one after the
 * other. The last member that is out frees the mutex.
 *
 * @run quick
 * @twin quick LEAVE_CLAIMED somebody_is_blocked: left after the choice
 * @twin quick NO_SECOND_LOOK somebody_is_blocked: who waited leaves blindly
 * @twin quick CLAIM_IN_TWO_STEPS mutex_exists: the last one leaves after the
 *	look
 * @twin quick USE_AFTER_POST mutex_exists: the members may be gone
 */
#define NR_MEMBERS	3
#define NR_SIGNALLERS	3

#include "guard.inc"

hidden byte members_add_up;
hidden byte somebody_is_blocked;
hidden byte mutex_exists;
hidden byte nobody_is_left;

/* The group's state, which changes as one word; and its lock. */
bool released, claimed;
byte tokens, blocked = NR_MEMBERS;
bool claim;

bool cond_lock;
bool is_closed = true;	/* the condvar has the group */
byte members = NR_MEMBERS;

/* Each member that is still here is blocked, or has a token, or is free. */
inline step_of_state()
{
	CHECK(members_add_up, released || blocked + tokens == members)
}

inline take(lock)
{
	atomic { !lock -> lock = true }
}

inline use_mutex()
{
	CHECK(mutex_exists, members > 0)
}

/* group_unblock() */
inline unblock()
{
	atomic {
		CHECK(somebody_is_blocked, blocked > 0);
		claimed = false;
		if
		:: blocked > 1 ->
			blocked--;
			tokens++
		:: else ->
			blocked = 0;
			tokens = 0;
			released = true
		fi;
		step_of_state()
	}
	BUSTED(USE_AFTER_POST, use_mutex();)
	claim = false
}

#define MAY_LEAVE	BUSTED_OR(LEAVE_CLAIMED, true, !claimed)

inline leave()
{
	members--;
	blocked--;
	step_of_state()
}

/* group_leave() */
active [NR_MEMBERS] proctype Member()
{
	do
	:: atomic { released -> members--; break }
	:: atomic {
		!released && tokens ->
		members--;
		tokens--;
		step_of_state();
		break
	   }
	:: atomic { !released && !tokens && MAY_LEAVE -> leave(); break }
	:: !released && !tokens && !(MAY_LEAVE) ->
		take(claim);
		claim = false;
		BUSTED(NO_SECOND_LOOK, atomic { leave(); break })
	od
}

active [NR_SIGNALLERS] proctype Signaller()
{
	bool found, last;

	take(cond_lock);
	if
	:: is_closed ->
		take(claim);
		BUSTED_OR(CLAIM_IN_TWO_STEPS,
			found = (blocked > 0);
			claimed = found;,
			atomic { found = (blocked > 0); claimed = found })
		if
		:: found ->
			last = (blocked == 1);
			use_mutex()
		:: !found -> claim = false
		fi
	:: !is_closed
	fi;
	if
	:: found && !last ->
		unblock();
		cond_lock = false
	:: found && last ->
		is_closed = false;
		cond_lock = false;
		unblock()
	:: !found -> cond_lock = false
	fi
}

active proctype Judge()
{
	atomic { timeout -> CHECK(nobody_is_left, !members && !claim) }
}
