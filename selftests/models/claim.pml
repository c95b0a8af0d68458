/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lock of a claimed group, struct group's claim: group_claim(),
 * group_unblock() and group_leave(), which takes it. In the other models it is a
 * mark of the group, that nobody can leave it, and that is what this shows.
 *
 * Members of one group, whose time has run out, and signallers one after the
 * other. The last member that is out frees the mutex.
 *
 * @run quick
 * @twin quick LEAVE_CLAIMED somebody_is_blocked: left after the choice
 * @twin quick LOOK_BEFORE_LOCK somebody_is_blocked: who waited leaves blindly
 * @twin quick CLAIM_WITHOUT_LOCK somebody_is_blocked: the last one has left
 * @twin quick USE_AFTER_POST mutex_exists: the members may be gone
 */
#define NR_MEMBERS	3
#define NR_SIGNALLERS	3

#include "guard.inc"

hidden byte members_add_up, somebody_is_blocked, mutex_exists, nobody_is_left;

/* The group's state, which changes as one word; and its lock. */
bool released;
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

#define CAN_TAKE	(released || tokens)

inline group_take()
{
	members--;
	tokens = (released -> tokens : tokens - 1);
	step_of_state()
}

/* group_leave() */
active [NR_MEMBERS] proctype Member()
{
	if
	:: atomic { CAN_TAKE -> group_take() }
	:: !CAN_TAKE ->
		GUARD(LEAVE_CLAIMED, take(claim);)
		if
		:: atomic {
			BUSTED_OR(LOOK_BEFORE_LOCK, false, CAN_TAKE) ->
			group_take()
		   }
		:: atomic {
			BUSTED_OR(LOOK_BEFORE_LOCK, true, !CAN_TAKE) ->
			CHECK(somebody_is_blocked, blocked > 0);
			members--;
			blocked--;
			step_of_state()
		   }
		fi;
		GUARD(LEAVE_CLAIMED, claim = false)
	fi
}

active [NR_SIGNALLERS] proctype Signaller()
{
	bool found, last;

	take(cond_lock);
	if
	:: is_closed ->
		GUARD(CLAIM_WITHOUT_LOCK, take(claim);)
		found = (blocked > 0);
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

JUDGE(CHECK(nobody_is_left, !members && !claim))
