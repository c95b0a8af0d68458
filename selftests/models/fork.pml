/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * [CV-LIFE] In the child of a fork: a condvar as the parent's threads left it,
 * with waiters and its lock held by a thread that is not there. The child's
 * threads come upon it at the same time: cond_lock() and cond_drop_ghosts().
 *
 * @run quick
 * @twin NO_LIFE nobody_was_dropped: the ghost never drops its lock
 * @twin OPEN_KEPT no_ghost_is_seen: the parent's group stays
 * @twin NO_GHOSTS_LOCK nobody_was_dropped: two threads start it anew
 * @twin NO_SECOND_LOOK nobody_was_dropped: the second one starts it anew
 */
#define NR_THREADS	3

#define PARENTS		0
#define OURS		1
#define GHOSTS		9

#define CHECK(property, expression) assert((expression) || property)

byte life = PARENTS;
bool lock = true;	/* by a ghost */
bool ghosts_lock;
byte open = GHOSTS;
byte inside;
byte joined;

hidden byte one_holds_the_lock;
hidden byte no_ghost_is_seen;
hidden byte nobody_was_dropped;

/* With the lock under which ghosts are dropped, and another look. */
inline drop_ghosts()
{
	if
	:: life == OURS
	:: life == PARENTS ->
#ifndef BUSTED_NO_GHOSTS_LOCK
		atomic { !ghosts_lock -> ghosts_lock = true }
#endif
		if
#ifdef BUSTED_NO_SECOND_LOOK
		:: true ->
#else
		:: life == PARENTS ->
#endif
#ifndef BUSTED_OPEN_KEPT
			open = 0;
#endif
			lock = false;
			life = OURS
		:: life == OURS
		fi;
		ghosts_lock = false
	fi
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
