// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signal handler ends the thread while it waits. Its clean-up handlers run with
 * the mutex held, as after a cancellation, and no waiter is left behind that
 * takes a later signal.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define ROUNDS 3

/* The thread that ends. */
static struct {
	pthread_t thread;
	atomic_int tid;
	atomic_bool had_mutex;
} victim;

static atomic_bool may_exit;
static atomic_int nr_in_handler;

static void end_thread(int signal)
{
	nr_in_handler++;
	while (!may_exit)
		sched_yield();
	pthread_exit(NULL);
}

static void clean_up(void *arg)
{
	victim.had_mutex = api_mutex_unlock(&mutex) == 0;
}

static void *wait_for_end(void *arg)
{
	api_mutex_lock(&mutex);
	pthread_cleanup_push(clean_up, NULL);
	victim.tid = blocked_gettid();
	for (;;)
		api_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

/* It sleeps when this returns. */
STEP(victim)
{
	memset(&victim, 0, sizeof(victim));
	may_exit = false;
	nr_in_handler = 0;
	start_thread(&victim.thread, wait_for_end, NULL);
	reached(&victim.tid, 1);
	place_settled(getpid(), victim.tid, &mutex);
	return 0;
}

STEP_DO(may_exit, may_exit = true);

STEP(to_handler)
{
	pthread_kill(victim.thread, SIGUSR1);
	reached(&nr_in_handler, 1);
	return 0;
}

/* Its clean-up handler has the mutex. */
STEP(ends)
{
	do_may_exit(NULL);
	pthread_join(victim.thread, NULL);
	return victim.had_mutex;
}

/* One waiter after another; who takes a signal that is not its own shows. */
STEP(signals_arrive)
{
	int nr = fixture_count(&fixture, RETURNED);

	for (int i = 1; i <= ROUNDS; i++) {
		scene_add(1, NULL, true);
		api_cond_signal(&cond);
		if (fixture_count(&fixture, RETURNED) != nr + i)
			return 0;
	}
	return 1;
}

static const struct scene scenes[] = {
	{ "asleep", "victim; may_exit; to_handler; ends = 1;"
		    "signals_arrive = 1" },
	{ "signalled with another",
	  "victim; wait; to_handler; signal; ends = 1; returned = 1;"
	  "signals_arrive = 1" },
	{ "both signalled",
	  "victim; wait; to_handler; signal 2; ends = 1; returned = 1;"
	  "signals_arrive = 1" },
	/* The mutex to which both may have been moved is free only later. */
	{ "at the mutex",
	  "victim; wait; lock; broadcast; may_exit; to_handler; unlock;"
	  "ends = 1; returned = 1; signals_arrive = 1" },
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
	scenes_test("in a handler", scenes, NR_OF(scenes) - no_requeue);
	if (no_requeue)
		tap_skip("at the mutex", "this kernel has no requeue");
	return tap_exit();
}
