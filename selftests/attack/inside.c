// SPDX-License-Identifier: GPL-2.0-only
/*
 * States inside the library, to which the test is linked, that are rarely met.
 *
 * A waiter's time runs out while a signaller, which is the test itself, has
 * the lock of its group for another waiter: it must still time out, and lends the
 * signaller its priority. It once slept until the lock was dropped, but only the
 * other was woken. And counters are brought to where they wrap: the cancellations
 * of a group, and the generations of forks.
 */
/* The member of a group is not the member of a fixture. */
#define member group_member
#include "base/fork.h"
#include "cond/group.h"
#undef member

#include "../cond/steps.h"
#include "fake_futex.h"

#define PRIORITY   7
#define NR_CANCELS 300 /* more than twice what there is room for */

static struct cond *const inside = (struct cond *)&cond;
static bool real_time, rushed;

/*
 * The real-time priority that the kernel gives the caller now, or 0: that is
 * the 18th field of stat, the 16th behind the name, as -1 - priority.
 */
static int priority_now(void)
{
	char text[512], *at;
	long priority;

	if (blocked_read(getpid(), blocked_gettid(), "stat", text,
			 sizeof(text)) < 0)
		tap_bail("no stat");
	at = strrchr(text, ')');
	for (int i = 0; i < 16; i++)
		at = strchr(at + 1, ' ');
	priority = strtol(at, NULL, 10);
	return priority < 0 ? -1 - priority : 0;
}

static int wait_in_real_time(api_cond_t *c, api_mutex_t *m)
{
	const struct sched_param param = { .sched_priority = PRIORITY };

	if (real_time &&
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		tap_bail("SCHED_FIFO was permitted, and is no longer");
	return api_cond_clockwait(c, m, CLOCK_MONOTONIC, &scene.deadline);
}

/* With a deadline, which may be over before it is seen to sleep. */
STEP(late)
{
	scene.deadline = deadline_in(CLOCK_MONOTONIC, scene.ns);
	scene_add(1, &(struct member){ .wait = wait_in_real_time }, false);
	return 0;
}

/*
 * The late one's time is over, and it sleeps once more. Again, with more time, if
 * the timeout did not meet the lock or the late one was quicker to get the
 * signal, which both may have.
 */
STEP(signal_late)
{
	struct member *late = &fixture.members[1];
	struct group *g;
	bool met = false;

	cond_lock(inside);
	g = group_lock_blocked(load_relaxed(&inside->open), inside);
	if (!g)
		tap_bail("nobody waits");
	lock_drop(&inside->lock);
	do_time_passes(NULL);
	while (late->turn < 0 && !met) {
		met = blocked_in_futex(getpid(), late->tid, &g->lock.pi) == 1;
		sched_yield();
	}
	rushed = met && priority_now() == PRIORITY;
	group_unblock(g, 1, 0);
	futex_wake(LOW_HALF(&g->state), 1, false);
	group_unpin(g);
	while (late->turn < 0)
		sched_yield();
	if (!met)
		scene.ns *= 2;
	scene.again = !met || late->result == 0;
	return scene.again ? STEPS_END : 0;
}

/* cancels N: after each the group has N who are blocked */
STEP(cancels)
{
	struct group *g = load_relaxed(&inside->open);
	bool exact = true;

	for (int i = 0; i < NR_CANCELS; i++) {
		group_cancel(g, UINT32_MAX);
		exact = exact && group_blocked(g) == args[0];
	}
	return exact;
}

static bool child_passes(void)
{
	return fork_generation_own() == GENERATION_LEAST + 1 &&
	       scene_holds("wait 4; signal; gone 1; returned = 1; broadcast;"
			   "gone 4; zeros = 4");
}

STEP_IS(child, child_does(child_passes, "in the child"));

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(4);
	/* With one CPU the late one, of higher priority, always gets it. */
	real_time = fifo_permitted() && poll_has_cpu();
	fake_futex_start((struct fake_futex){ 0 });
	scene_start("", "normal", false);
	tap_ok(scene_holds("wait 4; cancels 4 = 1; waiting = 4"),
	       "cancellations that wrap count nobody in or out, nor return any");
	/* From the first mutex on that inherits priorities. */
	lock_use_pi();
	scene_start("", "normal", false);
	tap_ok(scene_holds("wait; late; signal_late; gone 2; result 0 = 0;"
			   "result 1 = ETIMEDOUT"),
	       "who waited first has the signal, the other one timed out");
	if (real_time)
		tap_ok(rushed, "it lent the signaller its priority meanwhile");
	else
		tap_skip("it lends its priority",
			 "SCHED_FIFO is not permitted, or one CPU");
	/* Not to GENERATION_LEAST, which a child has that does not know its own. */
	nr_forks = UINT32_MAX;
	scene_start("", "normal", false);
	if (FORK_THREADS_WORK)
		tap_ok(scene_holds("wait 4; child = 1; waiting = 4"),
		       "no stale waiters when the generations of forks wrap");
	else
		tap_skip("generations of forks", FORK_THREADS_SKIP);
	return tap_exit();
}
