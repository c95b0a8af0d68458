// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every version of every condvar function that glibc has is the library's, for
 * two implementations must not meet in one condvar. And the oldest versions and
 * those of C11 work.
 */
#include <threads.h>

#include "../cond/steps.h"

/* Of condvars, in each port of glibc: two generations, or one. */
#if defined(__x86_64__)
#define OLDEST	 "GLIBC_2.2.5"
#define CONDVARS "GLIBC_2.3.2"
#elif defined(__riscv)
#define CONDVARS "GLIBC_2.27"
#else
#define CONDVARS "GLIBC_2.17"
#endif
#ifndef OLDEST
#define OLDEST CONDVARS
#endif

static const struct {
	const char *name, *version, *later;
} symbols[] = {
	{ "pthread_cond_init", OLDEST, CONDVARS },
	{ "pthread_cond_destroy", OLDEST, CONDVARS },
	{ "pthread_cond_wait", OLDEST, CONDVARS },
	{ "pthread_cond_timedwait", OLDEST, CONDVARS },
	{ "pthread_cond_signal", OLDEST, CONDVARS },
	{ "pthread_cond_broadcast", OLDEST, CONDVARS },
	{ "pthread_cond_clockwait", "GLIBC_2.30", "GLIBC_2.34" },
	{ "cnd_init", "GLIBC_2.28", "GLIBC_2.34" },
	{ "cnd_destroy", "GLIBC_2.28", "GLIBC_2.34" },
	{ "cnd_wait", "GLIBC_2.28", "GLIBC_2.34" },
	{ "cnd_timedwait", "GLIBC_2.28", "GLIBC_2.34" },
	{ "cnd_signal", "GLIBC_2.28", "GLIBC_2.34" },
	{ "cnd_broadcast", "GLIBC_2.28", "GLIBC_2.34" },
};

/*
 * The functions of old programs, whose condvar is one pointer; and those of C11,
 * which glibc makes of pthread's.
 */
static struct family {
	const char *name, *version;
	const char *functions[6];
	int timed_out, error;
	int (*wait)(pthread_cond_t *cond, pthread_mutex_t *mutex);
	int (*timedwait)(pthread_cond_t *cond, pthread_mutex_t *mutex,
			 const struct timespec *deadline);
	int (*signal)(pthread_cond_t *cond);
	int (*broadcast)(pthread_cond_t *cond);
	int (*init)(pthread_cond_t *cond, const void *attr);
	int (*destroy)(pthread_cond_t *cond);
} families[] = {
	{ .name = "the oldest",
	  .version = OLDEST,
	  .functions = { "pthread_cond_wait", "pthread_cond_timedwait",
			 "pthread_cond_signal", "pthread_cond_broadcast",
			 "pthread_cond_init", "pthread_cond_destroy" },
	  .timed_out = ETIMEDOUT,
	  .error = EINVAL },
	{ .name = "C11",
	  .version = "GLIBC_2.28",
	  .functions = { "cnd_wait", "cnd_timedwait", "cnd_signal",
			 "cnd_broadcast", "cnd_init", "cnd_destroy" },
	  .timed_out = thrd_timedout,
	  .error = thrd_error },
};

#define NR_FAMILIES 2

static const struct family *family;

/* What comes behind an old one is the program's. */
static union {
	pthread_cond_t cond;
	struct {
		void *pointer;
		char guard[40];
	};
} old;

static void find(struct family *f)
{
	void **const to[] = { (void **)&f->wait,   (void **)&f->timedwait,
			      (void **)&f->signal, (void **)&f->broadcast,
			      (void **)&f->init,   (void **)&f->destroy };

	for (int i = 0; i < 6; i++) {
		*to[i] = dlvsym(RTLD_DEFAULT, f->functions[i], f->version);
		if (!*to[i])
			tap_bail("no %s@%s", f->functions[i], f->version);
	}
}

STEP_IS(init, family->init(&old.cond, NULL));

STEP(zero)
{
	memset(&old, 0, sizeof(old));
	memset(old.guard, 0x5a, sizeof(old.guard));
	return 0;
}

STEP(untouched)
{
	for (size_t i = 0; i < sizeof(old.guard); i++)
		if (old.guard[i] != 0x5a)
			return 0;
	return 1;
}

STEP_DO(waits,
	scene_add(args[0],
		  &(struct member){ .cond = &old.cond, .wait = family->wait },
		  true));
STEP_IS(signals, family->signal(&old.cond));
STEP_IS(broadcasts, family->broadcast(&old.cond));

STEP(soon)
{
	struct timespec soon = deadline_in(CLOCK_REALTIME, 2 * NS_PER_MS);
	int err;

	pthread_mutex_lock(&mutex);
	err = family->timedwait(&old.cond, &mutex, &soon);
	pthread_mutex_unlock(&mutex);
	return err == family->timed_out &&
	       deadline_passed(CLOCK_REALTIME, &soon);
}

STEP(bad_time)
{
	const struct timespec bad = { .tv_nsec = -1 };
	int err;

	pthread_mutex_lock(&mutex);
	err = family->timedwait(&old.cond, &mutex, &bad);
	pthread_mutex_unlock(&mutex);
	return err == family->error;
}

STEP_DO(destroys, family->destroy(&old.cond));

#define ALL_CALLS                                                    \
	"signals = 0; waits 3; signals = 0; gone 1; returned = 1;"   \
	"broadcasts = 0; gone 3; zeros = 3; soon = 1; bad_time = 1;" \
	"destroys"

static const struct scene of_old[] = {
	{ "zero bytes, and only the first word is used",
	  "zero; " ALL_CALLS "; untouched = 1" },
	{ "init, and destroy of an unused one", "init = 0; destroys" },
};

static const struct scene of_c11[] = {
	{ "init, and all calls", "init = 0; " ALL_CALLS },
};

static void test_family(int number, const char *kind,
			const struct scene *scenes, int nr)
{
	family = &families[number];
	scene_start("", kind, false);
	scenes_test(family->name, scenes, nr);
}

static void test_symbol(const char *name, const char *version)
{
	void *function = dlvsym(RTLD_DEFAULT, name, version);

	if (drop_in_wanted())
		tap_ok(drop_in_owns(function), "%s@%s is the library's", name,
		       version);
	else
		tap_ok(function, "%s@%s exists", name, version);
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	tap_plan(2 * NR_OF(symbols) + 2 + 1 + 1);
	for (int i = 0; i < NR_OF(symbols); i++) {
		test_symbol(symbols[i].name, symbols[i].version);
		test_symbol(symbols[i].name, symbols[i].later);
	}
	for (int i = 0; i < NR_FAMILIES; i++)
		find(&families[i]);
	if (strcmp(OLDEST, CONDVARS))
		test_family(0, "normal", of_old, 2);
	else
		tap_skip_all(2, "the oldest", "this port has one generation");
	test_family(1, "normal", of_c11, 1);
	test_family(1, "recursive", of_c11, 1);
	return tap_exit();
}
