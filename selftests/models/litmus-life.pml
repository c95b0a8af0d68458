/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-LIFE] Message passing: a thread of a forked child drops the ghosts of a
 * condvar, while another comes upon it.
 *
 *	cond_drop_ghosts()		cond_lock()
 *	open = NULL			is life ours?		(acquire)
 *	life = ours	(release)	open
 *
 * @run quick
 * @twin RELEASE no_ghost_is_seen: the new life is in memory first
 * @twin ACQUIRE no_ghost_is_seen: the group is read first
 */
#define NR_CPUS 2

#include "weak.inc"

#define OPEN	0
#define LIFE	1

#define GHOSTS	9

hidden byte no_ghost_is_seen;

proctype Dropper()
{
	store_relaxed(0, OPEN, 0);
#ifdef BUSTED_RELEASE
	store_relaxed(0, LIFE, 1)
#else
	store_release(0, LIFE, 1)
#endif
}

proctype Locker()
{
	byte life, open;

#ifdef BUSTED_ACQUIRE
	if
	:: skip
	:: open = LOAD(1, OPEN); life = LOAD(1, LIFE); goto both
	fi;
#endif
	life = LOAD(1, LIFE);
	open = LOAD(1, OPEN);
both:	CHECK(no_ghost_is_seen, !life || open != GHOSTS)
}

init
{
	atomic {
		memory[OPEN] = GHOSTS;
		run Dropper();
		run Locker()
	}
}
