// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal handler ends the thread while it waits. Its clean-up handlers run
 * with the mutex held, as after a cancellation, and no waiter is left behind
 * that takes a later signal.
 *
 * APIs: drover pthread
 */
#include "victim.h"

static atomic_bool may_exit;
static atomic_int nr_in_handler;

static void end_thread(int signal)
{
	nr_in_handler++;
	while (!may_exit)
		sched_yield();
	pthread_exit(PTHREAD_CANCELED);
}

/* When this returns, the victim sleeps. */
STEP(waiter)
{
	may_exit = false;
	nr_in_handler = 0;
	return do_victim((long[]){ 0, 0, 0 });
}

STEP_DO(may_exit, may_exit = true);

STEP(to_handler)
{
	pthread_kill(victim.thread, SIGUSR1);
	reached(&nr_in_handler, 1);
	return 0;
}

STEP_IS(ends, (do_may_exit(NULL), do_acts(NULL)));

STEP(at_the_mutex)
{
	wait_until(place_of(getpid(), victim.tid, &mutex) == AT_MUTEX,
		   "the victim never sleeps at the mutex");
	return 0;
}

static const struct scene scenes[] = {
	{ "a thread that sleeps",
	  "waiter; may_exit; to_handler; ends = 1; wait 3; each 3 0 = 1" },
	{ "one of two threads, of which one was signalled",
	  "waiter; wait; to_handler; signal; ends = 1; returned = 1;"
	  "wait 3; each 4 0 = 1" },
	{ "one of two threads that were both signalled",
	  "waiter; wait; to_handler; signal 2; ends = 1; returned = 1;"
	  "wait 3; each 4 0 = 1" },
	{ "a thread that was woken, and sleeps at the mutex",
	  "waiter; lock; signal; at_the_mutex; may_exit; to_handler; unlock;"
	  "ends = 1; wait 3; each 3 0 = 1" },
	/* The mutex to which both may have been moved is free only later. */
	{ "one of two threads that were moved to the mutex",
	  "waiter; wait; lock; broadcast; may_exit; to_handler; unlock;"
	  "ends = 1; returned = 1; wait 3; each 4 0 = 1" },
};

int main(int argc, char **argv)
{
	bool no_requeue = variant_is("none");

	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	signal(SIGUSR1, end_thread);
	tap_plan(NR_OF(scenes));
	scene_start("", "errorcheck", false);
	scenes_test("a handler ends", scenes, NR_OF(scenes) - no_requeue);
	if (no_requeue)
		tap_skip("a thread moved to the mutex",
			 "this kernel has no requeue");
	return tap_exit();
}
