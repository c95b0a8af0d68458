// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fork handler that runs in the child, and was registered before any handler
 * that the library could register, starts threads that wait. The library does
 * not take them for stale waiters: a signal reaches them, a cancellation ends
 * them, and a mutex that was locked in the handler can be unlocked after it. On
 * a kernel that does not wipe memory in the child, the library has a handler of
 * its own.
 *
 * APIs: drover pthread
 */
#include "sandbox.h"
#include "steps.h"

#define NR_EARLY 2
/* Scenes with a cancellation, which no native wait acts upon. */
#define NR_CANCELLED (API_IS_PTHREAD ? 0 : 2)

static struct fixture early;
static api_mutex_t inheriting;
static pthread_t wants_it, cancelled;
static atomic_int cancelled_tid;
static bool armed;

static void *lock_and_unlock(void *arg)
{
	api_mutex_lock(&inheriting);
	api_mutex_unlock(&inheriting);
	return arg;
}

static void unlock_mutex(void *arg)
{
	api_mutex_unlock(arg);
}

static void *wait_for_ever(void *arg)
{
	api_mutex_lock(&second);
	pthread_cleanup_push(unlock_mutex, &second);
	cancelled_tid = blocked_gettid();
	while (true)
		api_cond_wait(arg, &second);
	pthread_cleanup_pop(1);
	return NULL;
}

static void child_begins(void)
{
	static api_cond_t other = API_COND_INITIALIZER;

	if (!armed)
		return;
	early = fixture_of(&cond, &mutex, NR_EARLY);
	fixture_add(&early, NR_EARLY);
	api_mutex_lock(&inheriting);
	start_thread(&wants_it, lock_and_unlock, NULL);
	if (!API_IS_PTHREAD)
		return;
	start_thread(&cancelled, wait_for_ever, &other);
	asleep_on(&cancelled_tid, NULL);
}

/* Runs before the constructor of any library. */
static void register_early(void)
{
	pthread_atfork(NULL, NULL, child_begins);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const first)(void) = register_early;

static bool all_return(void)
{
	api_cond_signal(&cond);
	fixture_gone(&early, 1);
	api_cond_broadcast(&cond);
	fixture_gone(&early, NR_EARLY);
	return fixture_results(&early, 0) == NR_EARLY;
}

static bool is_cancelled(void)
{
	pthread_cancel(cancelled);
	return joined(cancelled) == PTHREAD_CANCELED;
}

static bool is_unlocked(void)
{
	bool ok = api_mutex_unlock(&inheriting) == 0;

	return ok && !joined(wants_it);
}

/* ---- the thread that forks, and has waited in the parent ---- */

static _Atomic pid_t own_tid;

static void ends_well(void *unused)
{
	_exit(0);
}

static void *cancel_soon(void *thread)
{
	asleep_on(&own_tid, NULL);
	pthread_cancel(*(pthread_t *)thread);
	return NULL;
}

static bool is_cancelled_itself(void)
{
	pthread_t self = pthread_self();

	api_mutex_lock(&mutex);
	pthread_cleanup_push(ends_well, NULL);
	own_tid = blocked_gettid();
	thread_of(cancel_soon, &self);
	while (true)
		api_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return false;
}

/* The thread ends without a wait in the child. */
static bool ends(void)
{
	pthread_exit(NULL);
}

STEP_DO(arm, armed = args[0]);
STEP_IS(child_all_return, child_does(all_return, "early waiters"));
STEP_IS(child_cancels, child_does(is_cancelled, "an early waiter"));
STEP_IS(child_is_cancelled, child_does(is_cancelled_itself, "its own wait"));
STEP_IS(child_ends, child_does(ends, "the end of the thread"));
STEP_IS(child_unlocks, child_does(is_unlocked, "an early mutex"));

static const struct scene scenes[] = {
	{ "a signal and a broadcast reach waiters that a handler started",
	  "wait 2; child_all_return = 1; waiting = 2; broadcast; gone 2" },
	{ "a PI mutex that a handler locked is unlocked", "child_unlocks = 1" },
	{ "a thread that had waited before it forked ends",
	  "arm 0; child_ends = 1; arm" },
	{ "a waiter that a handler started is cancelled", "child_cancels = 1" },
	{ "a thread that had waited before it forked is cancelled",
	  "child_is_cancelled = 1" },
};

static bool no_stale_waiters(void)
{
	return scene_holds("wait 2; each 1 0 = 1; lock; broadcast; unlock;"
			   "gone 2; zeros = 2");
}

STEP_IS(child_has_own, child_does(no_stale_waiters, "own waiters"));

static const struct scene unwiped = {
	"a child on a kernel that wipes no memory has no stale waiters",
	"wait 2; signal; gone 1; wait 2; child_has_own = 1; waiting = 3;"
	"broadcast; gone 4; zeros = 4"
};

int main(int argc, char **argv)
{
	int stage;

	api_start(argv);
	if (!FORK_THREADS_WORK)
		return tap_skipped("threads of a child", FORK_THREADS_SKIP);
	stage = run_go_on();
	scene_start("", "normal", false);
	if (stage >= 0) {
		scenes_test("fork", &unwiped, 1);
		return tap_exit();
	}
	tap_start();
	MUST(kind_mutex_init(&inheriting, kind_named("PI"), false));
	/* The library knows the main thread from before the fork. */
	lock_and_unlock(NULL);
	api_time_out(&cond, &mutex);
	armed = true;
	scenes_test("fork", scenes, NR_OF(scenes) - NR_CANCELLED);
	if (run_unwiped(argv, 1))
		tap_skip(unwiped.name, "this kernel has no seccomp filters");
	return tap_exit();
}
