/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shapes of pairs that memory-ordering.rst names, on memory that is weaker
 * than Spin's own: two accesses of a CPU that nothing orders may change places.
 * For pairs that is as weak as Arm; x86 is stronger.
 *
 * Message passing: one CPU writes what it has to say, then a flag, with release;
 * another one that acquires the flag sees what was said before:
 *
 * @model message-passing -DMESSAGE_PASSING
 * @run quick
 * @twin quick RELEASE what_was_said_is_seen: the flag is in memory first
 * @twin quick ACQUIRE what_was_said_is_seen: what was said is read first
 *
 * Store buffering: each of two CPUs changes its own word, and then looks at the
 * other's. With a full barrier between the two on both sides, at least one finds
 * the other's change:
 *
 * @model store-buffering -DSTORE_BUFFERING
 * @run quick
 * @twin quick BARRIER one_sees_the_other: its store comes behind its load
 *
 * Who is done with some memory says so with release; who learns of it uses the
 * memory for something else, which must stay ([G-STATE], group_unpin()). The
 * acquire of the second keeps its own writes behind it. No CPU here stores what
 * it may have to take back, so that has no twin:
 *
 * @model overwriting -DOVERWRITING
 * @run quick
 * @twin quick RELEASE nothing_is_overwritten: the old value reaches memory last
 */
#include "guard.inc"

#define NR_CPUS 2

hidden byte what_was_said_is_seen, one_sees_the_other, nothing_is_overwritten;

byte word[2];

#define IN_ANY_ORDER(first, second)					\
	if								\
	:: first; second						\
	:: second; first						\
	fi

#if defined(MESSAGE_PASSING)
#define SAID	word[0]
#define FLAG	word[1]

inline thread(cpu)
{
	if
	:: cpu == 0 ->
		BUSTED_OR(RELEASE, IN_ANY_ORDER(SAID = 1, FLAG = 1),
			  SAID = 1; FLAG = 1)
	:: cpu == 1 ->
		BUSTED_OR(ACQUIRE, IN_ANY_ORDER(flag = FLAG, seen = SAID),
			  flag = FLAG; seen = SAID);
		CHECK(what_was_said_is_seen, !flag || seen)
	fi
}

#define IS_RIGHT	true

#elif defined(STORE_BUFFERING)
/* CPU n changes word n. */
bool saw[NR_CPUS];

/* The twin has a barrier on one side. */
inline thread(cpu)
{
	if
	:: word[cpu] = 1;
		saw[cpu] = word[1 - cpu]
	BUSTED(BARRIER,
	:: cpu == 0 ->
		saw[cpu] = word[1 - cpu];
		word[cpu] = 1)
	fi
}

#define IS_RIGHT	CHECK(one_sees_the_other, saw[0] || saw[1])

#elif defined(OVERWRITING)
#define MEMORY		word[0]
#define NR_GONE		word[1]
#define SAY_SO		atomic { NR_GONE++; seen = NR_GONE }

inline thread(cpu)
{
	BUSTED_OR(RELEASE, IN_ANY_ORDER(MEMORY = 1, SAY_SO),
		  MEMORY = 1; SAY_SO);
	WHEN(seen == NR_CPUS, MEMORY = 2)
}

#define IS_RIGHT	CHECK(nothing_is_overwritten, MEMORY == 2)
#endif

active [NR_CPUS] proctype Thread()
{
	byte seen, flag;

	thread(_pid)
}

JUDGE(IS_RIGHT)
