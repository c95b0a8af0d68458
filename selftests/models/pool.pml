/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib/pool/worker.c: workers look for tasks, give up, and sleep; submits push
 * and wake. Nobody waits for a task, so nothing but a worker runs it.
 *
 * One queue: where a task lies does not matter to who is woken. The list of
 * idle workers changes under its lock, in one step here.
 *
 * With TOGETHER a task ends only when all have begun: each must find a worker
 * while the others are busy.
 *
 * @run -DEACH=2
 * @run -DTOGETHER
 * @run long -DNR_SUBMITS=3
 * @run long -DNR_WORKERS=3 -DNR_SUBMITS=2 -DTOGETHER
 * @run -DNR_WORKERS=3 -DNR_SUBMITS=1 -DEACH=3 -DTOGETHER
 * @twin NO_LOOK no_task_is_left: a worker sleeps without another look at the
 *	queue
 * @twin LOOK_FIRST no_task_is_left: it looks before it says that it is idle
 * @twin SEARCHING_TO_THE_END no_task_is_left: it stops to count as searching
 *	after its last look
 * @twin NO_CHAIN no_task_is_left -DTOGETHER: who found a task does not ask
 *	whether there are more
 * @twin CLAIM_NOT_AWAITED idle_once: a worker that was claimed while it was
 *	about to sleep goes on before it is told
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

#define NR_TASKS (NR_SUBMITS * EACH)

#define CHECK(property, expression) assert((expression) || property)

hidden byte no_task_is_left;
hidden byte all_sleep_in_the_end;
hidden byte idle_once;
hidden byte i;

byte nr_queued;
byte nr_searching;
byte nr_idle;
byte nr_run;

bool is_idle[NR_WORKERS];
bool parked[NR_WORKERS];
bool asleep[NR_WORKERS];

/* Any idle worker: the order of the list does not matter. */
inline claim()
{
	if
	:: is_idle[0] -> claimed = 0
#if NR_WORKERS > 1
	:: is_idle[1] -> claimed = 1
#endif
#if NR_WORKERS > 2
	:: is_idle[2] -> claimed = 2
#endif
	:: nr_idle == 0 -> claimed = NR_WORKERS
	fi;
	if
	:: claimed < NR_WORKERS ->
		is_idle[claimed] = false;
		nr_idle--;
		nr_searching++
	:: else
	fi
}

inline wake_if_needed()
{
	seen = nr_queued;
	if
	:: seen == 0
	:: seen > 0 ->
		if
		:: nr_searching >= seen
		:: nr_searching < seen ->
			if
			:: nr_idle == 0
			:: nr_idle > 0 ->
				atomic { claim() }
				if
				:: claimed < NR_WORKERS ->
					parked[claimed] = false;
					asleep[claimed] = false
				:: else
				fi
			fi
		fi
	fi;
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

inline sleep_until_claimed(w)
{
	do
	:: !parked[w] -> break
	:: parked[w] ->
		/* The kernel looks at the word again. */
		atomic {
			if
			:: parked[w] -> asleep[w] = true
			:: else
			fi
		}
		!asleep[w]
	od
}

proctype Worker(byte w)
{
	byte seen, claimed;
	bool found, was_idle;

end_loop:
	do
	:: try_take();
	   if
	   :: found -> skip
	   :: else ->
		nr_searching++;
		do
		:: try_take();
		   if
		   :: found -> break
		   :: else
		   fi;
#ifndef BUSTED_SEARCHING_TO_THE_END
		   nr_searching--;
#endif
#ifdef BUSTED_LOOK_FIRST
		   seen = nr_queued;
#endif
		   parked[w] = true;
		   atomic {
			CHECK(idle_once, !is_idle[w]);
			is_idle[w] = true;
			nr_idle++
		   }
#ifdef BUSTED_NO_LOOK
		   seen = 0;
#endif
#if !defined(BUSTED_NO_LOOK) && !defined(BUSTED_LOOK_FIRST)
		   seen = nr_queued;
#endif
#ifdef BUSTED_SEARCHING_TO_THE_END
		   nr_searching--;
#endif
		   if
		   :: seen > 0 ->
			seen = 0;
			atomic {
				was_idle = is_idle[w];
				if
				:: was_idle ->
					is_idle[w] = false;
					nr_idle--;
					nr_searching++
				:: else
				fi
			}
			if
			:: was_idle
			:: !was_idle ->
#ifndef BUSTED_CLAIM_NOT_AWAITED
				sleep_until_claimed(w)
#else
				skip
#endif
			fi
		   :: seen == 0 ->
end_asleep:
			do
			:: !parked[w] -> break
			:: parked[w] ->
				atomic {
					if
					:: parked[w] -> asleep[w] = true
					:: else
					fi
				}
end_sleep:			!asleep[w]
			od
		   fi
		od;
		nr_searching--;
#ifndef BUSTED_NO_CHAIN
		wake_if_needed()
#endif
	   fi;
	   found = false;
	   was_idle = false;
	   nr_run++;
#ifdef TOGETHER
end_run:   nr_run == NR_TASKS
#endif
	od
}

proctype Submit()
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

init
{
	atomic {
		i = 0;
		do
		:: i < NR_WORKERS -> run Worker(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NR_SUBMITS -> run Submit(); i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		timeout ->
		CHECK(no_task_is_left, nr_run == NR_TASKS);
		CHECK(all_sleep_in_the_end,
		      nr_searching == 0 && nr_idle == NR_WORKERS)
	}
}
