// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rare states inside the library, which the test can read and write.
 *
 * A waiter's time runs out while a signaller, which is the test itself, has the
 * lock of its group for another waiter. The first waiter must still time out,
 * and lends the signaller its priority meanwhile. It once slept until the lock
 * was dropped, but then only the other waiter was woken. The test also brings
 * counters to where they wrap: the cancellations of a group, and the
 * generations of forks.
 */
/* The member of a group is not the member of a fixture. */
#define member group_member
#include "base/fork.h"
#include "cond/group.h"
#undef member

#include "../cond/steps.h"
#include "fake_futex.h"

#define PRIORITY   7
#define NR_CANCELS 300 /* more than twice as many as the counter has room for */

static struct cond *const inside = (struct cond *)&cond;
static bool real_time, rushed;

/*
 * Return: the real-time priority that the kernel gives the caller now, or 0. It
 * is the 18th field of stat, the 16th behind the name, as -1 - priority.
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

/* A member with a deadline, which may pass before the member sleeps. */
STEP(late)
{
	scene.deadline = deadline_in(CLOCK_MONOTONIC, scene.ns);
	scene_add(1, &(struct member){ .wait = wait_in_real_time }, false);
	return 0;
}

/*
 * The late member's deadline has passed, and it sleeps once more, for the lock.
 * If the timeout did not meet the lock, or the late member was quicker to take
 * the signal, which both members may have, run the scene again with more time.
 */
STEP(signal_late)
{
	struct member *late = &fixture.members[1];
	struct group *g;
	bool met = false;

	cond_lock(inside);
	g = group_lock_blocked(load_relaxed(&inside->open), inside);
	if (!g)
		tap_bail("no thread waits");
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

/* cancels N: after each cancellation the group has N blocked members */
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
	/* With one CPU the late member, of higher priority, always gets it. */
	real_time = fifo_permitted() && poll_has_cpu();
	fake_futex_start((struct fake_futex){ 0 });
	scene_start("", "normal", false);
	tap_ok(scene_holds("wait 4; cancels 4 = 1; waiting = 4"),
	       "cancellations that wrap neither add nor remove a waiter");
	/* The library does this at the first mutex that inherits priorities. */
	lock_use_pi();
	scene_start("", "normal", false);
	tap_ok(scene_holds("wait; late; signal_late; gone 2; result 0 = 0;"
			   "result 1 = ETIMEDOUT"),
	       "a waiter times out while a signaller has its group's lock");
	if (real_time)
		tap_ok(rushed, "that waiter lends the signaller its priority");
	else
		tap_skip("that waiter lends the signaller its priority",
			 "SCHED_FIFO is not permitted, or there is one CPU");
	/*
	 * A counter that wraps skips GENERATION_LEAST, which is for a child
	 * that does not know its own generation.
	 */
	nr_forks = UINT32_MAX;
	scene_start("", "normal", false);
	if (FORK_THREADS_WORK)
		tap_ok(scene_holds("wait 4; child = 1; waiting = 4"),
		       "no stale waiters when the generations of forks wrap");
	else
		tap_skip("generations of forks", FORK_THREADS_SKIP);
	return tap_exit();
}
