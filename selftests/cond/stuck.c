// SPDX-License-Identifier: GPL-2.0-only
/*
 * This tests the tests, see stuck.h: threads that sleep for ever are reported
 * at once, with the words on which they sleep, and a waiter with a deadline is
 * not reported. Each report comes from a process of its own.
 *
 * APIs: drover pthread
 */
#include "steps.h"

/* The main thread waits for something that never happens. */
STEP(never)
{
	static atomic_int never;

	reached(&never, 1);
	return 0;
}

/*
 * A sleep that ends by its deadline, when the main thread has looked at the
 * sleepers several times.
 */
STEP(time_out_slowly)
{
	scene.ns = 4 * STUCK_LOOK_NS;
	do_timed((long[]){ 1 });
	do_gone((long[]){ 1 });
	return fixture_results(&fixture, ETIMEDOUT);
}

/* Return: the output of a child that does the steps, until it ends. */
static const char *said_by_child(const char *steps)
{
	static char text[8192];
	int ends[2], status;
	size_t size = 0;
	ssize_t len;
	pid_t pid;

	MUST(pipe(ends));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		stuck_child_is_alone();
		_exit(!scene_holds(steps));
	}
	close(ends[1]);
	while ((len = read(ends[0], text + size, sizeof(text) - 1 - size)) > 0)
		size += len;
	text[size] = '\0';
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		tap_bail("the child did not end");
	return text;
}

static bool child_says(const char *steps, const char *const *words)
{
	const char *said = said_by_child(steps);
	bool ok = true;

	for (; *words; words++) {
		if (strstr(said, *words))
			continue;
		tap_diag("the report does not say: %s", *words);
		ok = false;
	}
	if (!ok)
		tap_diag("the report says: %s", said);
	return ok;
}

#define FOUND "nothing will wake them"

static void test(const char *policy)
{
	char group[96];

	scene_start(policy, "normal", false);
	snprintf(group, sizeof(group),
		 "a group of the condvar %p: blocked=2 tokens=0",
		 (void *)&cond);
	tap_ok(child_says("wait 2; never",
			  (const char *const[]){ FOUND, "(member 0) sleeps",
						 "(member 1) sleeps", group,
						 "Bail out!", NULL }),
	       "%s: the report says which thread sleeps where", policy);
	snprintf(group, sizeof(group), "woken on %#lx", (unsigned long)&mutex);
	if (!policy_moves(policy))
		tap_skip("a moved waiter", "no waiter is moved here");
	else
		tap_ok(child_says("wait 2; lock; broadcast; never",
				  (const char *const[]){
					  FOUND, "released, moved",
					  "a mutex, contended", group, NULL }),
		       "%s: the report says that a waiter was moved", policy);
	tap_ok(scene_holds("wait; time_out_slowly = 1; broadcast; gone 2"),
	       "%s: a waiter that times out is not reported", policy);
}

int main(int argc, char **argv)
{
	api_start(argv);
#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer has a thread that never sleeps for ever. */
	return tap_skipped("threads that sleep for ever",
			   "ThreadSanitizer has one that does not");
#endif
	return policy_main(argv, test);
}
