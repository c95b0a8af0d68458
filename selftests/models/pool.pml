/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/pool/worker.c: workers look for tasks, give up, and sleep. A submission
 * pushes a task and wakes a worker. A worker that is blocked gives its place to
 * another one.
 *
 * There is one queue, because the place of a task does not decide which worker
 * is woken. The list of idle workers changes under its lock, which is one step
 * here.
 *
 * There are NR_WORKERS threads, of which at most PLACES may be active.
 *
 * With TOGETHER a task ends only when all tasks have begun, so each must find a
 * worker while the others are busy. With BLOCKS the task that begins first is
 * blocked until all others have ended, so the others need its place.
 *
 * @run -DEACH=2
 * @run -DTOGETHER
 * @run long -DNR_SUBMITS=3
 * @run long -DNR_WORKERS=3 -DNR_SUBMITS=2 -DTOGETHER
 * @run -DNR_WORKERS=3 -DNR_SUBMITS=1 -DEACH=3 -DTOGETHER
 * @run -DPLACES=1 -DBLOCKS
 * @run long -DNR_WORKERS=3 -DPLACES=1 -DBLOCKS
 * @twin LOOK_FIRST no_task_is_left: a worker looks before it says that it is
 *	idle
 * @twin SEARCHING_TO_THE_END no_task_is_left: a worker counts as searching
 *	after its last look
 * @twin NO_CHAIN no_task_is_left -DTOGETHER: a worker that finds a task wakes
 *	no other
 * @twin ASK_FIRST no_task_is_left -DPLACES=1 -DBLOCKS: a blocked worker wakes
 *	another before it gives its place away
 * @twin KEEP_PLACE no_task_is_left -DPLACES=1 -DBLOCKS: a blocked worker keeps
 *	its place
 * @twin NO_LIMIT places_are_kept -DPLACES=1: a worker is woken without a place
 * @twin GOES_ON idle_once: a worker goes on while it is in the idle list
 *
 * @model pool-of-three -DNR_WORKERS=3 -DPLACES=2 -DNR_SUBMITS=1 -DEACH=3
 *	-DTOGETHER -DBLOCKS
 * @run
 */
#ifndef NR_WORKERS
#define NR_WORKERS 2
#endif
#ifndef NR_SUBMITS
#define NR_SUBMITS 2
#endif
#ifndef EACH
#define EACH 1
#endif

#ifndef PLACES
#define PLACES NR_WORKERS
#endif
#ifdef BLOCKS
#define MOST_RUNNING (PLACES + 1)
#else
#define MOST_RUNNING PLACES
#endif

#define NR_TASKS (NR_SUBMITS * EACH)

#include "guard.inc"

hidden byte no_task_is_left, all_sleep_in_the_end, idle_once, places_are_kept;

byte nr_queued;
byte nr_searching;
byte nr_idle;
byte nr_active = NR_WORKERS;
byte nr_running; /* how many tasks run, except one that is blocked */
byte nr_run;
byte nr_ended;

bool is_idle[NR_WORKERS];
bool parked[NR_WORKERS];
bool asleep[NR_WORKERS];

#define HAS_PLACE	BUSTED_OR(NO_LIMIT, true, (nr_active < PLACES))

inline unidle(w)
{
	is_idle[w] = false;
	nr_idle--;
	nr_searching++;
	nr_active++
}

/* Any idle worker: the order of the list does not matter. */
inline claim()
{
	if
	:: HAS_PLACE && is_idle[0] -> claimed = 0
	:: HAS_PLACE && is_idle[1] -> claimed = 1
#if NR_WORKERS > 2
	:: HAS_PLACE && is_idle[2] -> claimed = 2
#endif
	:: nr_idle == 0 || !HAS_PLACE -> claimed = NR_WORKERS
	fi;
	WHEN(claimed < NR_WORKERS, unidle(claimed))
}

/* Each condition is one look of its own. */
inline wake_if_needed()
{
	seen = nr_queued;
	WHEN(seen > 0,
	WHEN(nr_searching < seen,
	WHEN(nr_idle > 0,
	WHEN(HAS_PLACE,
		atomic { claim() }
		WHEN(claimed < NR_WORKERS,
			parked[claimed] = false;
			asleep[claimed] = false)))));
	seen = 0;
	claimed = 0
}

inline try_take()
{
	atomic {
		if
		:: nr_queued > 0 -> nr_queued--; found = true
		:: else -> found = false
		fi
	}
}

/* The begin of a task. */
inline run_task()
{
	nr_running++;
	CHECK(places_are_kept, nr_running <= MOST_RUNNING);
	nr_run++;
#ifdef BLOCKS
	WHEN(nr_run == 1,
		is_first = true;
		nr_running--)
#endif
}

/* A task is blocked from block_begin() to block_end(). */
inline be_blocked()
{
	BUSTED(ASK_FIRST, wake_if_needed();)
	GUARD(KEEP_PLACE, nr_active--;)
	GUARD(ASK_FIRST, wake_if_needed();)
end_blocked:
	nr_ended == NR_TASKS - 1;
	nr_running++;
	GUARD(KEEP_PLACE, nr_active++)
}

active [NR_WORKERS] proctype Worker()
{
	byte seen, claimed;
	bool found, is_first;

end_loop:
	do
	:: /* After a wait there may be more active workers than places. */
	   if
	   :: nr_active > PLACES -> found = false
	   :: nr_active <= PLACES -> try_take()
	   fi;
	   if
	   :: found -> skip
	   :: else ->
		nr_searching++;
		do
		BUSTED_OR(SEARCHING_TO_THE_END, ::, :: nr_searching--;)
		BUSTED(LOOK_FIRST, wake_if_needed();)
		   parked[_pid] = true;
		   atomic {
			CHECK(idle_once, !is_idle[_pid]);
			is_idle[_pid] = true;
			nr_idle++;
			nr_active--
		   }
		   /* This may wake any idle worker, including this one. */
		GUARD(LOOK_FIRST, wake_if_needed();)
		BUSTED(SEARCHING_TO_THE_END, nr_searching--;)
end_asleep:
		   do
		   :: !parked[_pid] -> break
		BUSTED(GOES_ON, :: nr_queued > 0 -> break)
		   :: parked[_pid] ->
			/* The kernel looks at the word again. */
			atomic {
				WHEN(parked[_pid], asleep[_pid] = true)
			}
end_sleep:		!asleep[_pid]
		   od;
		   try_take();
		   WHEN(found, break)
		od;
		nr_searching--;
		GUARD(NO_CHAIN, wake_if_needed())
	   fi;
	   found = false;
	   atomic { run_task() }
#ifdef BLOCKS
	   WHEN(is_first, be_blocked());
	   is_first = false;
#endif
#ifdef TOGETHER
end_run:   nr_run == NR_TASKS;
#endif
	   atomic { nr_running--; nr_ended++ }
	od
}

active [NR_SUBMITS] proctype Submit()
{
	byte seen, claimed, left = EACH;

	do
	:: left > 0 ->
		nr_queued++;
		left--;
		wake_if_needed()
	:: left == 0 -> break
	od
}

JUDGE(CHECK(no_task_is_left, nr_run == NR_TASKS);
      CHECK(all_sleep_in_the_end,
	    nr_searching == 0 && nr_active == 0 && nr_idle == NR_WORKERS))
