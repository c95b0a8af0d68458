/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shapes of pairs that memory-ordering.rst names, on memory that is weaker
 * than Spin's own: two accesses of a CPU may change places if nothing orders
 * them. For pairs this is as weak as Arm; x86 is stronger.
 *
 * @run quick
 * @twin quick RELEASE what_was_said_is_seen: the flag is in memory before the
 *	data
 * @twin quick ACQUIRE what_was_said_is_seen: the data is read before the flag
 * @twin quick BARRIER one_sees_the_other: a CPU loads before its store
 * @twin quick LAST_RELEASE nothing_is_overwritten: the old value is stored last
 */
#include "guard.inc"

hidden byte what_was_said_is_seen, one_sees_the_other, nothing_is_overwritten;

#define IN_ANY_ORDER(first, second)					\
	if								\
	:: first; second						\
	:: second; first						\
	fi

/*
 * Message passing: one CPU writes data, and then a flag with release. Another
 * CPU that acquires the flag sees the data.
 */
bool said, flag;

active proctype Writer()
{
	BUSTED_OR(RELEASE, IN_ANY_ORDER(said = true, flag = true),
		  said = true; flag = true)
}

active proctype Reader()
{
	bool flagged, seen;

	BUSTED_OR(ACQUIRE, IN_ANY_ORDER(flagged = flag, seen = said),
		  flagged = flag; seen = said);
	CHECK(what_was_said_is_seen, !flagged || seen)
}

/*
 * Store buffering: each of two CPUs changes its own word, and then reads the
 * other's. With a full barrier between the two accesses on both sides, at least
 * one CPU sees the other's change. The twin has a barrier on one side only.
 */
bool changed[2], saw[2];

active [2] proctype Changer()
{
	byte me = _pid % 2;

	if
	:: changed[me] = true; saw[me] = changed[1 - me]
	BUSTED(BARRIER, :: !me -> saw[0] = changed[1]; changed[0] = true)
	fi
}

/*
 * A CPU that is done with some memory counts itself with release. The last one
 * to do so uses the memory for something else, which must not be overwritten
 * ([G-STATE], group_unpin()). Its acquire keeps its own writes behind the
 * count. The model's CPUs make no speculative stores, so the acquire has no
 * twin.
 */
byte memory, nr_done;

active [2] proctype User()
{
	byte seen;

#define SAY_SO	atomic { nr_done++; seen = nr_done }
	BUSTED_OR(LAST_RELEASE, IN_ANY_ORDER(memory = 1, SAY_SO),
		  memory = 1; SAY_SO);
	WHEN(seen == 2, memory = 2)
}

JUDGE(CHECK(one_sees_the_other, saw[0] || saw[1]);
      CHECK(nothing_is_overwritten, memory == 2))
