// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every version of every condvar function that glibc has is the library's, for
 * two implementations must not meet in one condvar. And the oldest versions,
 * whose condvar is one pointer, work.
 */
#include "fixture.h"
#include "blocked.h"
#include "tap.h"

/* clang-format off */
static const struct {
	const char *name;
	const char *version;
} symbols[] = {
	{ "pthread_cond_init",		"GLIBC_2.2.5" },
	{ "pthread_cond_init",		"GLIBC_2.3.2" },
	{ "pthread_cond_destroy",	"GLIBC_2.2.5" },
	{ "pthread_cond_destroy",	"GLIBC_2.3.2" },
	{ "pthread_cond_wait",		"GLIBC_2.2.5" },
	{ "pthread_cond_wait",		"GLIBC_2.3.2" },
	{ "pthread_cond_timedwait",	"GLIBC_2.2.5" },
	{ "pthread_cond_timedwait",	"GLIBC_2.3.2" },
	{ "pthread_cond_signal",	"GLIBC_2.2.5" },
	{ "pthread_cond_signal",	"GLIBC_2.3.2" },
	{ "pthread_cond_broadcast",	"GLIBC_2.2.5" },
	{ "pthread_cond_broadcast",	"GLIBC_2.3.2" },
	{ "pthread_cond_clockwait",	"GLIBC_2.30" },
	{ "pthread_cond_clockwait",	"GLIBC_2.34" },
	{ "cnd_init",			"GLIBC_2.28" },
	{ "cnd_init",			"GLIBC_2.34" },
	{ "cnd_destroy",		"GLIBC_2.28" },
	{ "cnd_destroy",		"GLIBC_2.34" },
	{ "cnd_wait",			"GLIBC_2.28" },
	{ "cnd_wait",			"GLIBC_2.34" },
	{ "cnd_timedwait",		"GLIBC_2.28" },
	{ "cnd_timedwait",		"GLIBC_2.34" },
	{ "cnd_signal",			"GLIBC_2.28" },
	{ "cnd_signal",			"GLIBC_2.34" },
	{ "cnd_broadcast",		"GLIBC_2.28" },
	{ "cnd_broadcast",		"GLIBC_2.34" },
};
/* clang-format on */

#define NR_SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

/* The condvar of before 2002. */
struct old_cond {
	void *pointer;
	/* What comes behind it is the program's. */
	char guard[40];
};

static struct {
	int (*wait)(struct old_cond *cond, pthread_mutex_t *mutex);
	int (*timedwait)(struct old_cond *cond, pthread_mutex_t *mutex,
			 const struct timespec *deadline);
	int (*signal)(struct old_cond *cond);
	int (*broadcast)(struct old_cond *cond);
	int (*init)(struct old_cond *cond, const void *attr);
	int (*destroy)(struct old_cond *cond);
} old;

static struct old_cond old_cond;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int nr_waiting, nr_returned;

static void *old_function(const char *name)
{
	void *function = dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5");

	if (!function)
		tap_bail("no %s@GLIBC_2.2.5", name);
	return function;
}

static void find_old(void)
{
	*(void **)&old.wait = old_function("pthread_cond_wait");
	*(void **)&old.timedwait = old_function("pthread_cond_timedwait");
	*(void **)&old.signal = old_function("pthread_cond_signal");
	*(void **)&old.broadcast = old_function("pthread_cond_broadcast");
	*(void **)&old.init = old_function("pthread_cond_init");
	*(void **)&old.destroy = old_function("pthread_cond_destroy");
}

static void *old_wait(void *arg)
{
	pthread_mutex_lock(&mutex);
	nr_waiting++;
	old.wait(&old_cond, &mutex);
	nr_returned++;
	pthread_mutex_unlock(&mutex);
	return arg;
}

static int locked(const int *number)
{
	int value;

	pthread_mutex_lock(&mutex);
	value = *number;
	pthread_mutex_unlock(&mutex);
	return value;
}

static void wait_until(const int *number, int value)
{
	while (locked(number) < value)
		sched_yield();
}

static void test_old(void)
{
	struct timespec past = deadline_in(CLOCK_REALTIME, -1);
	pthread_t threads[3];
	int nr_changed = 0;

	tap_is(old.signal(&old_cond), 0, "2.2.5: signal to nobody");
	for (int i = 0; i < 3; i++)
		start_thread(&threads[i], old_wait, NULL);
	wait_until(&nr_waiting, 3);
	old.signal(&old_cond);
	wait_until(&nr_returned, 1);
	tap_is(locked(&nr_returned), 1, "2.2.5: a signal returns one");
	old.broadcast(&old_cond);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	tap_is(nr_returned, 3, "2.2.5: a broadcast returns all");
	pthread_mutex_lock(&mutex);
	tap_is(old.timedwait(&old_cond, &mutex, &past), ETIMEDOUT,
	       "2.2.5: a deadline");
	pthread_mutex_unlock(&mutex);
	tap_is(old.destroy(&old_cond), 0, "2.2.5: destroy");
	tap_ok(old.init(&old_cond, NULL) == 0 && old.destroy(&old_cond) == 0,
	       "2.2.5: init, and destroy of an unused one");
	for (size_t i = 0; i < sizeof(old_cond.guard); i++)
		nr_changed += old_cond.guard[i] != 0x5a;
	tap_is(nr_changed, 0, "2.2.5: only the first word is used");
}

int main(int argc, char **argv)
{
	(void)argc;
	drop_in_load(argv);
	watchdog("condvars of old programs");
	tap_plan(NR_SYMBOLS + 7);
	for (size_t i = 0; i < NR_SYMBOLS; i++) {
		void *function = dlvsym(RTLD_DEFAULT, symbols[i].name,
					symbols[i].version);

		if (drop_in_wanted())
			tap_ok(drop_in_owns(function), "%s@%s is the library's",
			       symbols[i].name, symbols[i].version);
		else
			tap_ok(function, "%s@%s exists", symbols[i].name,
			       symbols[i].version);
	}
	memset(old_cond.guard, 0x5a, sizeof(old_cond.guard));
	find_old();
	test_old();
	return tap_exit();
}
