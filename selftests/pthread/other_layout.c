// SPDX-License-Identifier: GPL-2.0-only
/*
 * A C library may have another mutex than the drop-in knows; this program
 * brings such a mutex. The drop-in says so when it is loaded, moves no waiter,
 * and writes nothing to the mutex.
 */
#include "../cond/steps.h"
#include "sandbox.h"

#define NR_TESTS 5
#define FOREIGN	 0x5eed0000

struct other_mutex {
	uint32_t nr_locked; /* glibc's lock word */
	uint32_t unused;
	uint32_t foreign; /* glibc's owner */
	uint32_t other[3];
	atomic_bool held;
};

_Static_assert(sizeof(struct other_mutex) <= sizeof(pthread_mutex_t), "fits");

static uint32_t nr_locked;

static struct other_mutex *other_of(pthread_mutex_t *m)
{
	return (struct other_mutex *)(void *)m;
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (atomic_exchange(&other_of(m)->held, true))
		return EBUSY;
	other_of(m)->nr_locked++;
	other_of(m)->foreign = FOREIGN;
	if (m == &mutex)
		nr_locked++;
	return 0;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	while (pthread_mutex_trylock(m))
		sched_yield();
	return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	atomic_store(&other_of(m)->held, false);
	return 0;
}

/* The test calls it only with a deadline in the past. */
int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *deadline)
{
	return pthread_mutex_trylock(m) ? ETIMEDOUT : 0;
}

/*
 * The mutex is held, so waiters with glibc's mutex would be moved. A seccomp
 * filter kills the program if it makes a requeue.
 */
static const struct scene scenes[] = {
	{ "a signal unblocks one, and a broadcast the others",
	  "wait 8; lock; signal; unlock; gone 1; waiting = 7; lock; broadcast;"
	  "unlock; gone 8; zeros = 8" },
};

int main(int argc, char **argv)
{
	struct other_mutex *m = other_of(&mutex);
	bool killed;
	char text[4096] = ""; /* an emulator's loader may say something, too */

	if (!drop_in_wanted())
		return tap_skipped("a mutex of the program's own",
				   "glibc's condvars need glibc's mutex");
	if (!MUTEXES_MAY_BE_FOREIGN)
		return tap_skipped("a mutex of the program's own",
				   "ThreadSanitizer knows only glibc's mutex");
	/* The library's messages while it is loaded go to a file. */
	if (!drop_in_loaded() &&
	    dup2(memfd_create("stderr", 0), STDERR_FILENO) < 0)
		tap_bail("no file for stderr");
	drop_in_load(argv);
	watchdog("a mutex of the program's own");
	tap_plan(NR_TESTS);
	if (pread(STDERR_FILENO, text, sizeof(text) - 1, 0) < 0)
		tap_bail("stderr: %s", strerror(errno));
	if (!tap_ok(strstr(text, "drover: this C library's mutex is not as"),
		    "the library says that it does not know the mutex"))
		tap_diag("the output: %s", text);
	scene_start("", "normal", false);
	memset(&mutex, 0, sizeof(mutex)); /* which glibc has initialised */
	killed = !filter_answer(SECCOMP_RET_KILL_PROCESS, FUTEX_REQUEUE,
				FUTEX_CMP_REQUEUE);
	scenes_test("the program's mutex", scenes, 1);
	if (killed)
		tap_ok(true, "the library moves no waiter");
	else
		tap_skip("the library moves no waiter",
			 "the kernel has no seccomp filters");
	tap_ok(m->nr_locked == nr_locked && m->foreign == FOREIGN,
	       "the library writes nothing to the place of glibc's lock word");
	tap_ok(!m->unused && !m->other[0] && !m->other[1] && !m->other[2],
	       "the library writes nothing to the rest of the mutex");
	return tap_exit();
}
