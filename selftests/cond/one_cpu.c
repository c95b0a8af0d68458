// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU: each of two signals wakes a waiter. The second waiter's return does
 * not depend on the first waiter, which runs under SCHED_IDLE and is in a
 * signal handler.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define NR_ELSEWHERE 12

static int wait_idle(api_cond_t *c, api_mutex_t *m)
{
	MUST(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }));
	return api_cond_wait(c, m);
}

STEP_DO(wait_idle, scene_add(1, &(struct member){ .wait = wait_idle }, true));

/*
 * If the first waiter was so quick that it has the mutex or has ended, run the
 * scene again.
 */
STEP(off_first)
{
	struct member *first = &fixture.members[0];

	hold_off_soon(first->thread);
	while (!nr_held_off && member_place(first) != RETURNED)
		sched_yield();
	scene.nr_off = nr_held_off;
	scene.again = !nr_held_off || api_mutex_trylock(&mutex) != 0;
	if (!scene.again)
		return api_mutex_unlock(&mutex);
	hold_off_end(scene.nr_off);
	scene.nr_off = 0;
	scene.ns *= 2;
	return STEPS_END;
}

int main(int argc, char **argv)
{
	static api_cond_t other = API_COND_INITIALIZER;
	static api_mutex_t other_mutex = API_MUTEX_INITIALIZER;
	cpu_set_t before = to_one_cpu();
	struct fixture elsewhere;

	/* CPUs are counted when the library is loaded. */
	if (CPU_COUNT(&before) > 1)
		execv("/proc/self/exe", argv);
	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	tap_plan(1);
	watchdog("threads that wait elsewhere");
	elsewhere = fixture_of(&other, &other_mutex, NR_ELSEWHERE);
	fixture_add(&elsewhere, NR_ELSEWHERE);
	scene_start("", "normal", false);
	tap_ok(scene_holds("wait_idle; wait; signal; off_first; signal; gone 1;"
			   "on; gone 2"),
	       "the first waiter is in a signal handler: the second returns");
	api_cond_broadcast(&other);
	fixture_end(&elsewhere);
	return tap_exit();
}
