// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads call glibc's own functions, as in a library that was loaded with
 * RTLD_DEEPBIND: they wait in glibc's function on a condvar that the drop-in
 * signals. No wait outlasts its deadline, signals reach both kinds of waiters,
 * which do not harm each other, and the library says once what is wrong.
 */
#include <gnu/libc-version.h>

#include "../cond/steps.h"

#define SOON   (20 * NS_PER_MS)
#define ROUNDS 20

static int (*glibc_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*glibc_timedwait)(pthread_cond_t *, pthread_mutex_t *,
			      const struct timespec *);
static int (*glibc_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
static int (*glibc_signal)(pthread_cond_t *);
static int (*glibc_cancel)(pthread_t);

static void *of_glibc(const char *name)
{
	/* Before glibc 2.34, libpthread.so.0 has them. */
	void *own = dlopen("libpthread.so.0", RTLD_NOW | RTLD_NOLOAD);
	void *libc = own ? own : dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *function = libc ? dlsym(libc, name) : NULL;

	if (!function || drop_in_owns(function))
		tap_bail("%s of the C library: %s", name, dlerror());
	return function;
}

static int nr_ready; /* [mutex] the predicate: how many may go */

static int wait_until_ready(pthread_cond_t *c, pthread_mutex_t *m,
			    int (*wait)(pthread_cond_t *, pthread_mutex_t *))
{
	int err = 0;

	while (!nr_ready && !err)
		err = wait(c, m);
	if (!err)
		nr_ready--;
	return err;
}

static int glibc_wait_ready(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_until_ready(c, m, glibc_wait);
}

static int own_wait_ready(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_until_ready(c, m, pthread_cond_wait);
}

static struct timespec soon;

static int glibc_wait_soon(pthread_cond_t *c, pthread_mutex_t *m)
{
	int err = 0;

	while (!err)
		err = glibc_clockwait(c, m, CLOCK_MONOTONIC, &soon);
	return err;
}

/* foreign N: N members that sleep in glibc's wait */
STEP_DO(foreign,
	scene_add(args[0], &(struct member){ .wait = glibc_wait_ready }, true));

/* foreign_soon MS: a member in glibc's wait, with a deadline */
STEP(foreign_soon)
{
	soon = deadline_in(CLOCK_MONOTONIC, args[0] * NS_PER_MS);
	scene_add(1, &(struct member){ .wait = glibc_wait_soon }, false);
	return 0;
}

/* own N: N members in the drop-in's wait, with the same predicate. */
STEP_DO(own,
	scene_add(args[0], &(struct member){ .wait = own_wait_ready }, false));

STEP(fresh)
{
	nr_ready = 0;
	memset(&cond, 0, sizeof(cond));
	return 0;
}

STEP(init)
{
	nr_ready = 0;
	return pthread_cond_init(&cond, NULL);
}

STEP(ready)
{
	bool held = scene.lock;

	if (!held)
		pthread_mutex_lock(&mutex);
	nr_ready += args[0];
	if (!held)
		pthread_mutex_unlock(&mutex);
	return 0;
}

STEP_IS(glibc_signal, glibc_signal(&cond));
STEP_IS(destroy, pthread_cond_destroy(&cond));
STEP_DO(fill, memset(&cond, 0xa5, sizeof(cond)));

STEP(is_filled)
{
	pthread_cond_t filled;

	memset(&filled, 0xa5, sizeof(filled));
	return memcmp(&cond, &filled, sizeof(cond)) == 0;
}

#define ONE_DEADLINE "foreign_soon 1; gone "

static const struct scene scenes[] = {
	{ "a condvar that only glibc's functions use works",
	  "init = 0; foreign 3; ready; glibc_signal; ready; glibc_signal;"
	  "ready; glibc_signal; gone 3; zeros = 3; destroy = 0" },
	{ "glibc's waits end at their deadlines, and the drop-in's wait on",
	  "fresh; wait 3; " ONE_DEADLINE "1; " ONE_DEADLINE "2; " ONE_DEADLINE
	  "3; " ONE_DEADLINE "4; " ONE_DEADLINE "5; results ETIMEDOUT = 5;"
	  "waiting = 3; each 8 0 = 1; zeros = 3; destroy = 0" },
	{ "a signal and a broadcast reach both kinds of waiters",
	  "fresh; wait 2; foreign 2; ready; signal; gone 2; ready; broadcast;"
	  "gone 4; zeros = 4; destroy = 0" },
	/* The drop-in's waiter comes to a condvar that glibc uses already. */
	{ "glibc's waiters came before the drop-in's: all return",
	  "fresh; foreign_soon 20; foreign 1; own 1; gone 1;"
	  "result 0 = ETIMEDOUT; ready 2; broadcast; gone 3; zeros = 2;"
	  "destroy = 0" },
};

/* glibc's timed wait reads the clock from the condvar. */
static void test_clock(void)
{
	struct timespec end = deadline_in(CLOCK_MONOTONIC, SOON);
	int err;

	watchdog("the clock");
	MUST(cond_init_for(&cond, CLOCK_MONOTONIC, false));
	pthread_mutex_lock(&mutex);
	err = glibc_timedwait(&cond, &mutex, &end);
	pthread_mutex_unlock(&mutex);
	tap_ok(err == ETIMEDOUT && deadline_passed(CLOCK_MONOTONIC, &end),
	       "glibc's timed wait uses the clock that the drop-in has set");
	pthread_cond_destroy(&cond);
}

static void *signal_cancelled(void *signalled)
{
	pthread_cancel(pthread_self());
	pthread_cond_signal(&cond);
	*(bool *)signalled = true;
	return NULL;
}

/*
 * A thread with a pending cancellation signals: that is no cancellation point.
 */
STEP(signal_cancelled)
{
	bool signalled = false;

	joined(thread_of(signal_cancelled, &signalled));
	return signalled;
}

static void *wait_shortly(void *arg)
{
	struct timespec end = deadline_in(CLOCK_MONOTONIC, SOON);

	atomic_store((atomic_int *)arg, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end);
	pthread_cleanup_pop(1);
	pthread_testcancel();
	return NULL;
}

static void test_cancel(void)
{
	static atomic_int tid;
	pthread_t thread;
	void *result;

	watchdog("cancel");
	if (skips_cancellation("cancelled by glibc's function"))
		return;
	do_fresh(NULL);
	start_thread(&thread, wait_shortly, &tid);
	reached(&tid, 1);
	glibc_cancel(thread);
	pthread_join(thread, &result);
	tap_ok(result == PTHREAD_CANCELED,
	       "cancelled by glibc's function: it acts by the deadline");
}

int main(int argc, char **argv)
{
	char line[512];
	bool ok = true;
	int nr = 0;
	FILE *said;

	drop_in_load(argv);
	if (!MUTEXES_MAY_BE_FOREIGN)
		return tap_skipped("glibc's own functions",
				   "ThreadSanitizer does not see them");
	if (strverscmp(gnu_get_libc_version(), "2.41") >= 0)
		return tap_skipped("glibc's own functions",
				   "since glibc 2.41 they must not be used");
	tap_plan(4 + NR_OF(scenes) + 1);
	glibc_wait = of_glibc("pthread_cond_wait");
	glibc_timedwait = of_glibc("pthread_cond_timedwait");
	glibc_clockwait = of_glibc("pthread_cond_clockwait");
	glibc_signal = of_glibc("pthread_cond_signal");
	glibc_cancel = of_glibc("pthread_cancel");
	places_of_glibc = true;
	/* The library's messages go to a file. */
	said = tmpfile();
	if (!said || dup2(fileno(said), STDERR_FILENO) < 0)
		tap_bail("a temporary file: %s", strerror(errno));
	scene_start("", "normal", false);
	/* This is the first such wait, which the library reports. */
	tap_ok(scene_holds("fresh; foreign 1; ready; signal_cancelled = 1;"
			   "gone 1; zeros = 1"),
	       "a thread with a pending cancellation signals glibc's waiter");
	test_clock();
	test_cancel();
	scenes_test("glibc's", scenes, NR_OF(scenes));
	/* A waiter that was unblocked may still be in its wait. */
	for (int i = 0; i < ROUNDS; i++)
		ok &= scene_holds("fresh; foreign 1; lock; ready; broadcast;"
				  "destroy; fill; unlock; gone 1;"
				  "is_filled = 1");
	tap_ok(ok, "destroy waits for glibc's waiters");
	rewind(said);
	while (fgets(line, sizeof(line), said))
		nr += strstr(line, "RTLD_DEEPBIND") != NULL;
	tap_is(nr, 1, "the library says once what is wrong");
	return tap_exit();
}
