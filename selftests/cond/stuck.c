// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that sleep for ever are reported at once, with the words on which
 * they sleep, and a waiter that will wake up by itself is not taken for one:
 * the tests themselves, see stuck.h. Each report comes from a process of its
 * own.
 *
 * APIs: drover pthread
 */
#include "steps.h"

/* Nobody will: the main thread waits in vain. */
STEP(never)
{
	static atomic_int never;

	reached(&never, 1);
	return 0;
}

/* A sleep that ends when others have slept for several looks already. */
STEP(time_out_slowly)
{
	scene.ns = 4 * STUCK_LOOK_NS;
	do_timed((long[]){ 1 });
	do_gone((long[]){ 1 });
	return fixture_results(&fixture, ETIMEDOUT);
}

/* What a child says that does the steps, until it ends. */
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
		tap_diag("it does not say: %s", *words);
		ok = false;
	}
	if (!ok)
		tap_diag("it said: %s", said);
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
	       "%s: who sleeps where", policy);
	snprintf(group, sizeof(group), "woken on %#lx", (unsigned long)&mutex);
	if (!policy_moves(policy))
		tap_skip("a moved waiter", "nobody is moved");
	else
		tap_ok(child_says("wait 2; lock; broadcast; never",
				  (const char *const[]){
					  FOUND, "released, moved",
					  "a mutex, contended", group, NULL }),
		       "%s: that a waiter was moved to the mutex", policy);
	tap_ok(scene_holds("wait; time_out_slowly = 1; broadcast; gone 2"),
	       "%s: a waiter that times out is none", policy);
}

int main(int argc, char **argv)
{
	api_start(argv);
#ifdef __SANITIZE_THREAD__
	/* Its own thread never sleeps for ever. */
	return tap_skipped("who sleeps for ever", "ThreadSanitizer's does not");
#endif
	return policy_main(argv, test);
}
