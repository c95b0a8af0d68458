/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-LIFE] In the child of a fork: a condvar as the parent's threads left it,
 * with waiters and its lock held by a thread that is not there. The child's
 * threads come upon it at the same time: cond_lock() and cond_drop_ghosts().
 *
 * @run
 * @twin NO_LIFE nobody_was_dropped: the ghost never drops its lock
 * @twin NO_CHANGING nobody_was_dropped: two threads start it anew
 */
#define NR_THREADS	3

#define PARENTS		0
#define CHANGING	1
#define OURS		2
#define GHOSTS		9

#define CHECK(property, expression) \
	property = (expression); assert(property)

byte life = PARENTS;
bool lock = true;	/* by a ghost */
byte open = GHOSTS;
byte inside;
byte joined;

hidden byte one_holds_the_lock;
hidden byte no_ghost_is_seen;
hidden byte nobody_was_dropped;

inline drop_ghosts()
{
	do
	:: life == OURS -> break
#ifdef BUSTED_NO_CHANGING
	:: life == PARENTS ->
#else
	:: atomic { life == PARENTS -> life = CHANGING }
#endif
		open = 0;
		lock = false;
		life = OURS;
		break
	od
}

/* cond_lock(), then what a waiter does with it; cond_unlock(). */
proctype Thread()
{
#ifndef BUSTED_NO_LIFE
	drop_ghosts();
#endif
	atomic { !lock -> lock = true }
	inside++;
	CHECK(one_holds_the_lock, inside == 1);
	CHECK(no_ghost_is_seen, open != GHOSTS);
	open++;
	joined++;
	inside--;
	lock = false
}

init
{
	atomic {
		run Thread();
		run Thread();
		run Thread()
	}
	timeout;
	CHECK(nobody_was_dropped, open == NR_THREADS && joined == NR_THREADS)
}
