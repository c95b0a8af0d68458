// SPDX-License-Identifier: GPL-2.0-only
/*
 * The results of drover_mutex_t's functions, used rightly and wrongly, with
 * each of its attributes: called by the mutex's holder, by other threads, after
 * the holder's death, and across a fork. The first scenario runs in a process
 * with one thread. Mutual exclusion is tested by stress/cond_mixed, and after
 * trylock and timedlock by attack/storm.
 */
#include <drover/cond.h>
#include <drover/mutex.h>

#include "blocked.h"
#include "run.h"

#define RECURSIVE  DROVER_MUTEX_RECURSIVE
#define ERRORCHECK DROVER_MUTEX_ERRORCHECK
#define SHARED	   DROVER_MUTEX_SHARED
#define ROBUST	   DROVER_MUTEX_ROBUST
#define PI	   DROVER_MUTEX_PI

static drover_mutex_t own, *shared, *mutex;
static drover_cond_t cond = DROVER_COND_INITIALIZER;
static const char *child_steps;

/* A timedlock with a deadline in @ns; -1: it returned before that. */
static int timed(clockid_t clock, int64_t ns)
{
	struct timespec end = deadline_in(clock, ns);
	int err = drover_mutex_timedlock(mutex, clock, &end);

	return err == ETIMEDOUT && !deadline_passed(clock, &end) ? -1 : err;
}

static int timed_at(clockid_t clock, time_t seconds, long ns)
{
	const struct timespec end = { seconds, ns };

	return drover_mutex_timedlock(mutex, clock, &end);
}

/*
 * Each call is a verb of its own, and can follow the verbs "elsewhere" and
 * "sleeps". No call may touch errno.
 */
#define CALL(name, expression)                       \
	STEP(name)                                   \
	{                                            \
		int err;                             \
                                                     \
		errno = 4711;                        \
		err = expression;                    \
		return errno == 4711 ? err : -errno; \
	}

CALL(lock, drover_mutex_lock(mutex))
CALL(trylock, drover_mutex_trylock(mutex))
CALL(unlock, drover_mutex_unlock(mutex))
CALL(destroy, drover_mutex_destroy(mutex))
CALL(consistent, drover_mutex_consistent(mutex))
CALL(lock_unlock, drover_mutex_lock(mutex) ?: drover_mutex_unlock(mutex))
CALL(past, timed(CLOCK_MONOTONIC, -1))
CALL(past_realtime, timed(CLOCK_REALTIME, -1))
CALL(before_epoch, timed_at(CLOCK_REALTIME, -1, 0))
CALL(soon, timed(CLOCK_REALTIME, NS_PER_MS))
CALL(soon_monotonic, timed(CLOCK_MONOTONIC, NS_PER_MS))
CALL(far_unlock, timed(CLOCK_MONOTONIC, 1000 * NS_PER_S) ?: do_unlock(NULL))
CALL(bad_nsec, timed_at(CLOCK_MONOTONIC, 0, NS_PER_S))
CALL(bad_clock, timed_at(CLOCK_PROCESS_CPUTIME_ID, 0, 0))

CALL(init, drover_mutex_init(mutex, &(drover_mutexattr_t){ .flags = args[0] }))

/* Calls that other threads make. */
#define MOST_OTHERS 3

static struct other {
	pthread_t thread;
	long (*call)(const long *args);
	atomic_int tid;
	long answer;
} others[MOST_OTHERS];

static int nr_others;

static void *other_calls(void *arg)
{
	struct other *other = arg;

	other->tid = blocked_gettid();
	other->answer = other->call(NULL);
	return arg;
}

static struct other *other_start(long call)
{
	struct other *other = &others[nr_others++];

	other->call = (long (*)(const long *))call;
	other->tid = 0;
	start_thread(&other->thread, other_calls, other);
	return other;
}

/* answers: 0 if all calls of other threads returned 0, or another result */
STEP(answers)
{
	long wrong = 0;

	while (nr_others) {
		pthread_join(others[--nr_others].thread, NULL);
		wrong = wrong ? wrong : others[nr_others].answer;
	}
	return wrong;
}

STEP(elsewhere)
{
	other_start(args[0]);
	return do_answers(NULL);
}

STEP_DO(sleeps, asleep_on(&other_start(args[0])->tid, mutex));

STEP(wait)
{
	const struct timespec past = { 0, 0 };

	return drover_cond_timedwait(&cond, mutex, &past);
}

/*
 * A process is killed while it holds the mutex and this process waits for it.
 */
STEP(lock_of_killed)
{
	int ready[2], err;
	pid_t holder, parent = getpid();
	char byte;

	MUST(pipe(ready));
	holder = fork();
	if (holder == 0) {
		drover_mutex_lock(mutex);
		if (write(ready[1], "", 1) != 1 ||
		    wait_blocked(parent, parent, mutex))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	if (holder < 0 || read(ready[0], &byte, 1) != 1)
		tap_bail("no holder: %s", strerror(errno));
	err = drover_mutex_lock(mutex);
	waitpid(holder, NULL, 0);
	return err;
}

/* In a child, another thread can neither unlock nor lock the mutex. */
STEP_IS(others_are_out,
	!FORK_THREADS_WORK ||
		(do_elsewhere((long[]){ (long)do_unlock }) == EPERM &&
		 do_elsewhere((long[]){ (long)do_trylock }) == EBUSY));

static bool do_child_steps(void);

/* Do child_steps in a child, and in a child of a child. */
STEP_IS(child, child_does(do_child_steps, "in the child"));

static bool child_with_child(void)
{
	return do_child(NULL) && do_child_steps();
}

STEP_IS(grandchild, child_does(child_with_child, "in the child"));

/* The mutex keeps its holder across a fork so that programs can do this. */
static void before_fork(void)
{
	drover_mutex_lock(mutex);
}

static void after_fork(void)
{
	MUST(drover_mutex_unlock(mutex));
}

STEP_IS(atfork, pthread_atfork(before_fork, after_fork, after_fork));

static bool do_child_steps(void)
{
	return steps_do(child_steps);
}

#define ALONE                                                       \
	"unlock = EPERM; trylock = 0; trylock = EBUSY; unlock = 0;" \
	"lock = 0; unlock = 0; unlock = EPERM; past = 0; unlock = 0"
#define RECURSES                                                          \
	"lock = 0; lock = 0; trylock = 0; past_realtime = 0; unlock = 0;" \
	"unlock = 0; unlock = 0; elsewhere trylock = EBUSY; unlock = 0;"  \
	"destroy = 0; unlock = EPERM"
#define CHECKS                                       \
	"lock = 0; lock = EDEADLK; trylock = EBUSY;" \
	"elsewhere unlock = EPERM; unlock = 0"
#define TIMES_OUT "lock; past = ETIMEDOUT; past_realtime = ETIMEDOUT; unlock"
/* A child acts on the mutex: once as its holder, and once without it. */
#define HOLDS \
	"wait = ETIMEDOUT; unlock = 0; unlock = EPERM; lock = 0; unlock = 0"
#define DOES_NOT "unlock = EPERM; trylock = EBUSY; wait = EPERM"

static const struct scene {
	const char *name;
	uint32_t flags;
	const char *steps, *child_steps;
} scenes[] = {
	{ "one thread", 0, ALONE, NULL },
	{ "a second thread", 0,
	  "lock; elsewhere trylock = EBUSY; sleeps lock_unlock; unlock = 0;"
	  "answers = 0",
	  NULL },
	{ "one thread again", 0, ALONE, NULL },
	/*
	 * Each has to wake the next, though the main thread locks in between.
	 */
	{ "three threads sleep for the mutex, and all get it", 0,
	  "lock; sleeps lock_unlock; sleeps lock_unlock; sleeps lock_unlock;"
	  "unlock; lock_unlock = 0; lock_unlock = 0; answers = 0",
	  NULL },
	{ "calls of other threads while the mutex is held", 0,
	  "lock; elsewhere unlock = EPERM; elsewhere past = ETIMEDOUT;"
	  "elsewhere before_epoch = ETIMEDOUT; elsewhere soon = ETIMEDOUT;"
	  "elsewhere soon_monotonic = ETIMEDOUT; elsewhere bad_nsec = EINVAL;"
	  "elsewhere bad_clock = EINVAL; destroy = EBUSY; unlock = 0;"
	  "elsewhere lock_unlock = 0; destroy = 0",
	  NULL },
	{ "unlock wakes a waiting timedlock", 0,
	  "lock; sleeps far_unlock; unlock; answers = 0", NULL },
	{ "recursive", RECURSIVE, RECURSES, NULL },
	{ "recursive, PI", RECURSIVE | PI, RECURSES, NULL },
	{ "errorcheck", ERRORCHECK, CHECKS, NULL },
	{ "errorcheck, PI", ERRORCHECK | PI, CHECKS, NULL },
	{ "shared", SHARED, TIMES_OUT, NULL },
	{ "PI", PI, TIMES_OUT, NULL },
	{ "robust, its holder ended", ROBUST,
	  "elsewhere lock; lock = EOWNERDEAD; consistent = 0;"
	  "consistent = EINVAL; unlock = 0; lock = 0; unlock = 0",
	  NULL },
	{ "robust, trylock after its holder ended", ROBUST,
	  "lock; trylock = EBUSY; elsewhere trylock = EBUSY; unlock = 0;"
	  "elsewhere lock; trylock = EOWNERDEAD; elsewhere trylock = EBUSY;"
	  "consistent = 0; unlock = 0; trylock = 0; unlock = 0",
	  NULL },
	{ "robust, not repaired", ROBUST,
	  "elsewhere lock; lock = EOWNERDEAD; unlock; lock = ENOTRECOVERABLE;"
	  "trylock = ENOTRECOVERABLE",
	  NULL },
	{ "robust, shared, its holder is killed while another waits",
	  ROBUST | SHARED,
	  "lock_of_killed = EOWNERDEAD; consistent = 0; unlock = 0", NULL },
	{ "held in a child", 0, "lock; child = 1; grandchild = 1; unlock = 0",
	  "others_are_out = 1; " HOLDS },
	{ "recursive, held in a child", RECURSIVE,
	  "lock; lock; child = 1; grandchild = 1; unlock = 0; unlock = 0",
	  "others_are_out = 1; unlock = 0; " HOLDS },
	{ "errorcheck, held in a child", ERRORCHECK,
	  "lock; child = 1; grandchild = 1; unlock = 0",
	  "others_are_out = 1; lock = EDEADLK; " HOLDS },
	{ "shared, not held in a child", SHARED, "lock; child = 1; unlock = 0",
	  DOES_NOT },
	{ "PI, not held in a child", PI, "lock; child = 1; unlock = 0",
	  DOES_NOT },
	{ "robust, not held in a child", ROBUST, "lock; child = 1; unlock = 0",
	  DOES_NOT },
	{ "unknown flags, and both recursive and errorcheck", 0,
	  "init 0x20 = EINVAL; init 0x80000000 = EINVAL; init 3 = EINVAL",
	  NULL },
	{ "atfork handlers lock and unlock", 0,
	  "atfork = 0; child = 1; lock = 0; unlock = 0",
	  "lock = 0; unlock = 0" },
};

static void test_scene(const struct scene *scene)
{
	const drover_mutexattr_t attr = { .flags = scene->flags };
	bool ok;

	watchdog(scene->name);
	mutex = scene->flags & SHARED ? shared : &own;
	child_steps = scene->child_steps;
	memset(mutex, 0xff, sizeof(*mutex));
	MUST(drover_mutex_init(mutex, scene->flags ? &attr : NULL));
	ok = steps_do(scene->steps);
	tap_ok(ok, "%s", scene->name);
}

int main(void)
{
	shared = map_pages(sizeof(*shared));
	tap_plan(NR_OF(scenes));
	for (int i = 0; i < NR_OF(scenes); i++)
		test_scene(&scenes[i]);
	return tap_exit();
}
