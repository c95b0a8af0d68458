// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that meet glibc's own functions, as in a library that was loaded with
 * RTLD_DEEPBIND: they wait by glibc's wait on a condvar that the drop-in
 * signals. No wait outlasts its deadline, signals reach both kinds of waiters,
 * who do not harm each other, and it is said once what is wrong.
 */
#include "api.h"
#include "blocked.h"
#include "fixture.h"
#include "tap.h"

#define NR_WAITERS 3
#define SOON	   (20 * NS_PER_MS)
#define ROUNDS	   20

static pthread_cond_t cond;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int (*glibc_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*glibc_timedwait)(pthread_cond_t *, pthread_mutex_t *,
			      const struct timespec *);
static int (*glibc_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
static int (*glibc_signal)(pthread_cond_t *);
static int (*glibc_cancel)(pthread_t);

static void *of_glibc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *function = libc ? dlsym(libc, name) : NULL;

	if (!function || drop_in_owns(function))
		tap_bail("%s of the C library: %s", name, dlerror());
	return function;
}

/* A thread in glibc's wait. */
struct foreign {
	pthread_t thread;
	atomic_int tid;
	const struct timespec *deadline;
	atomic_int result;
};

static int nr_ready; /* [mutex] the predicate: how many may go */

static void *foreign_thread(void *arg)
{
	struct foreign *foreign = arg;
	int err = 0;

	pthread_mutex_lock(&mutex);
	atomic_store(&foreign->tid, blocked_gettid());
	while (!nr_ready && !err)
		err = foreign->deadline ?
			      glibc_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
					      foreign->deadline) :
			      glibc_wait(&cond, &mutex);
	if (!err)
		nr_ready--;
	pthread_mutex_unlock(&mutex);
	atomic_store(&foreign->result, err);
	return NULL;
}

/* It waits when this returns. */
static void foreign_start(struct foreign *foreign,
			  const struct timespec *deadline)
{
	foreign->deadline = deadline;
	atomic_store(&foreign->tid, 0);
	if (pthread_create(&foreign->thread, NULL, foreign_thread, foreign) ||
	    wait_at_least(&foreign->tid, 1))
		tap_bail("no foreign waiter");
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	if (!deadline && wait_blocked(getpid(), foreign->tid, NULL))
		tap_bail("the foreign waiter never slept");
}

static int foreign_end(struct foreign *foreign)
{
	pthread_join(foreign->thread, NULL);
	return atomic_load(&foreign->result);
}

static void fresh_cond(void)
{
	nr_ready = 0;
	memset(&cond, 0, sizeof(cond));
}

static void add_ready(int nr)
{
	pthread_mutex_lock(&mutex);
	nr_ready += nr;
	pthread_mutex_unlock(&mutex);
}

/* Among waiters of ours, again and again. */
static void test_deadline(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	int nr_timeouts = 0;

	watchdog("a deadline");
	fresh_cond();
	fixture_add(&fixture, NR_WAITERS);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
		struct foreign foreign;

		foreign_start(&foreign, &soon);
		nr_timeouts += foreign_end(&foreign) == ETIMEDOUT;
	}
	tap_is(nr_timeouts, ROUNDS, "glibc's waits end at their deadlines");
	tap_is(fixture_count(&fixture, AT_COND), NR_WAITERS,
	       "and the drop-in's waiters wait on");
	for (int i = 1; i <= NR_WAITERS; i++) {
		pthread_cond_signal(&cond);
		fixture_gone(&fixture, i);
	}
	tap_is(fixture_results(&fixture, 0), NR_WAITERS,
	       "one of them returns for each signal");
	fixture_end(&fixture);
	tap_is(pthread_cond_destroy(&cond), 0, "destroy");
}

static void test_signals(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 2);
	struct foreign foreign[2];

	watchdog("signals");
	fresh_cond();
	fixture_add(&fixture, 2);
	for (int i = 0; i < 2; i++)
		foreign_start(&foreign[i], NULL);
	add_ready(1);
	pthread_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	add_ready(1);
	pthread_cond_broadcast(&cond);
	fixture_gone(&fixture, 2);
	tap_ok(!foreign_end(&foreign[0]) && !foreign_end(&foreign[1]),
	       "glibc's waiters are reached by a signal and a broadcast");
	fixture_end(&fixture);
	pthread_cond_destroy(&cond);
}

/* The drop-in's waiter comes to a condvar that is in glibc's use. */
static void *wait_until_ready(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!nr_ready)
		pthread_cond_wait(&cond, &mutex);
	nr_ready--;
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void test_foreign_first(void)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, SOON);
	struct foreign timed, waiting;
	pthread_t ours;
	int timed_result;

	watchdog("glibc's waiter first");
	fresh_cond();
	foreign_start(&timed, &soon);
	foreign_start(&waiting, NULL);
	start_thread(&ours, wait_until_ready, NULL);
	timed_result = foreign_end(&timed);
	add_ready(2);
	pthread_cond_broadcast(&cond);
	pthread_join(ours, NULL);
	tap_ok(timed_result == ETIMEDOUT && !foreign_end(&waiting),
	       "glibc's waiters before the drop-in's: all get on");
	pthread_cond_destroy(&cond);
}

/* glibc's timed wait asks the condvar for its clock. */
static void test_clock(void)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, SOON);
	pthread_condattr_t attr;
	int err;

	watchdog("the clock");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &attr);
	pthread_mutex_lock(&mutex);
	err = glibc_timedwait(&cond, &mutex, &soon);
	pthread_mutex_unlock(&mutex);
	tap_ok(err == ETIMEDOUT && deadline_passed(CLOCK_MONOTONIC, &soon),
	       "glibc's timed wait is on the clock that the drop-in was given");
	pthread_cond_destroy(&cond);
}

/* A waiter that was released may still be in its wait. */
static void test_destroy(void)
{
	pthread_cond_t filled;
	int nr_touched = 0;

	watchdog("destroy");
	memset(&filled, 0xa5, sizeof(filled));
	for (int i = 0; i < ROUNDS; i++) {
		struct foreign foreign;

		fresh_cond();
		foreign_start(&foreign, NULL);
		pthread_mutex_lock(&mutex);
		nr_ready = 1;
		pthread_cond_broadcast(&cond);
		pthread_cond_destroy(&cond);
		memset(&cond, 0xa5, sizeof(cond));
		pthread_mutex_unlock(&mutex);
		foreign_end(&foreign);
		nr_touched += memcmp(&cond, &filled, sizeof(cond)) != 0;
	}
	tap_is(nr_touched, 0, "destroy waits for those of glibc's");
}

/* One that only glibc's functions use, but for init and destroy. */
static void test_all_foreign(void)
{
	struct foreign foreign[NR_WAITERS];
	int nr = 0;

	watchdog("all by glibc");
	nr_ready = 0;
	pthread_cond_init(&cond, NULL);
	for (int i = 0; i < NR_WAITERS; i++)
		foreign_start(&foreign[i], NULL);
	for (int i = 0; i < NR_WAITERS; i++) {
		add_ready(1);
		glibc_signal(&cond);
	}
	for (int i = 0; i < NR_WAITERS; i++)
		nr += foreign_end(&foreign[i]) == 0;
	tap_is(nr, NR_WAITERS, "a condvar that only glibc uses is glibc's");
	pthread_cond_destroy(&cond);
}

static void unlock(void *arg)
{
	pthread_mutex_unlock(arg);
}

static void *wait_shortly(void *arg)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, SOON);

	atomic_store((atomic_int *)arg, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon);
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
	fresh_cond();
	if (pthread_create(&thread, NULL, wait_shortly, &tid) ||
	    wait_at_least(&tid, 1))
		tap_bail("pthread_create");
	glibc_cancel(thread);
	pthread_join(thread, &result);
	tap_ok(result == PTHREAD_CANCELED,
	       "cancelled by glibc's function: at the deadline at the latest");
}

/* What the library says goes to a file meanwhile. */
static FILE *said_begin(void)
{
	FILE *file = tmpfile();

	if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
		tap_bail("a temporary file: %s", strerror(errno));
	return file;
}

static void test_said(FILE *file)
{
	char line[512];
	int nr = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file))
		nr += strstr(line, "RTLD_DEEPBIND") != NULL;
	tap_is(nr, 1, "and it says so, once");
}

int main(int argc, char **argv)
{
	FILE *said;

	(void)argc;
	drop_in_load(argv);
	if (!MUTEXES_MAY_BE_FOREIGN)
		return sanitizer_skips("glibc's own functions",
				       "ThreadSanitizer does not see them");
	tap_plan(11);
	glibc_wait = of_glibc("pthread_cond_wait");
	glibc_timedwait = of_glibc("pthread_cond_timedwait");
	glibc_clockwait = of_glibc("pthread_cond_clockwait");
	glibc_signal = of_glibc("pthread_cond_signal");
	glibc_cancel = of_glibc("pthread_cancel");
	said = said_begin();
	test_clock();
	test_cancel();
	test_all_foreign();
	test_deadline();
	test_signals();
	test_foreign_first();
	test_destroy();
	test_said(said);
	return tap_exit();
}
