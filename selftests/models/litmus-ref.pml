/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [G-REF] Message passing: a spare group gets a new owner, while a signaller
 * of its former one follows an old pointer to it.
 *
 *	group_new()			group_pin()
 *	owner = new			refs > 0: refs + 1	(acquire)
 *	refs = 1	(release)	is the owner the old one?
 *
 * @run quick
 * @twin RELEASE no_foreign_group_is_used: refs are in memory first
 * @twin ACQUIRE no_foreign_group_is_used: the owner is read first
 */
#define NR_CPUS 2

#include "weak.inc"

#define OWNER	0
#define REFS	1

#define OLD	1
#define NEW	2

hidden byte no_foreign_group_is_used;

proctype Starter()
{
	store_relaxed(0, OWNER, NEW);
#ifdef BUSTED_RELEASE
	store_relaxed(0, REFS, 1)
#else
	store_release(0, REFS, 1)
#endif
}

proctype Signaller()
{
	byte refs, owner;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: owner = LOAD(1, OWNER); refs = LOAD(1, REFS); goto both
	fi;
#endif
	refs = LOAD(1, REFS);
	owner = LOAD(1, OWNER);
both:	CHECK(no_foreign_group_is_used, !refs || owner != OLD)
}

init
{
	atomic {
		memory[OWNER] = OLD;
		run Starter();
		run Signaller()
	}
}
