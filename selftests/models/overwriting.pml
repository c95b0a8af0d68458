/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is done with some memory says so with release; who learns of it uses the
 * memory for something else, which must stay.
 *
 * [G-STATE]		a claimer marks the members' mutex as contended, then
 *			changes the group's state; a member that finds itself
 *			released destroys the mutex
 * group_unpin()	a member writes to the group, then drops its reference;
 *			who drops the last one hands the group on
 *
 * The acquire of the second keeps its own writes behind it. The models have no
 * CPU that stores what it may have to take back, so that has no twin.
 *
 * @run quick
 * @twin quick RELEASE nothing_is_overwritten: the old value reaches memory
 *	last
 */
#define NR_CPUS 2

#include "weak.inc"

#define MEMORY	0
#define NR_USERS	1

#define OLD	1
#define NEW	2

hidden byte nothing_is_overwritten;

/* Read-modify-write, of memory itself; what was stored before may come later. */
inline leave(cpu)
{
	atomic {
		BUSTED_OR(RELEASE, !buffered[SLOT(cpu, NR_USERS)] ->,
			IS_EMPTY(cpu) ->)
		memory[NR_USERS] = memory[NR_USERS] - 1;
		is_last = (memory[NR_USERS] == 0)
	}
}

proctype User(byte cpu)
{
	bool is_last;

	store_relaxed(cpu, MEMORY, OLD);
	leave(cpu);
	if
	:: is_last -> store_relaxed(cpu, MEMORY, NEW)
	:: else
	fi
}

init
{
	atomic {
		memory[NR_USERS] = 2;
		run User(0);
		run User(1)
	}
	atomic {
		timeout ->
		CHECK(nothing_is_overwritten, memory[MEMORY] == NEW)
	}
}
