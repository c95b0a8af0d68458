/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * group_unpin(): two members leave, and the last one hands the group to its
 * next user, who starts it anew. What the other one wrote must not come after
 * that.
 *
 *	member, either one
 *	state = ...
 *	refs - 1	(release); was it the last?
 *	then state = new
 *
 * The acquire of the same step keeps the new writes behind it. The models have
 * no CPU that stores what it may have to take back, so that has no twin.
 *
 * @run quick
 * @twin RELEASE group_is_new: the old state reaches memory last
 */
#define NR_CPUS 2

#include "weak.inc"

#define STATE	0
#define REFS	1

#define OLD	1
#define NEW	2

hidden byte group_is_new;

#ifdef BUSTED_RELEASE
#define UNPIN(cpu)	rmw_relaxed(cpu, REFS, refs, -1)
#else
#define UNPIN(cpu)	rmw_release(cpu, REFS, refs, -1)
#endif

proctype Member(byte cpu)
{
	byte refs;

	store_relaxed(cpu, STATE, OLD);
	UNPIN(cpu);
	if
	:: refs == 1 -> store_relaxed(cpu, STATE, NEW)
	:: else
	fi
}

init
{
	atomic {
		memory[REFS] = 2;
		run Member(0);
		run Member(1)
	}
	atomic {
		timeout ->
		CHECK(group_is_new, memory[STATE] == NEW)
	}
}
