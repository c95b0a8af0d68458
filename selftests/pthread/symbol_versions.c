// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library has every version of every condvar function of glibc, because two
 * implementations must not use the same condvar. All versions work, including
 * the oldest and those of C11: on a condvar of zero bytes, such as
 * PTHREAD_COND_INITIALIZER makes, after init() over garbage, and after a
 * destroy(). None touches a byte behind the condvar.
 */
#include <threads.h>

#include "../cond/steps.h"

/* The versions of condvars in each port of glibc: two generations, or one. */
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

/*
 * The functions of old programs, whose condvar is one pointer; those of
 * pthread; and those of C11, which glibc makes of pthread's.
 */
static const struct family {
	const char *name, *prefix, *version, *mutex;
	size_t size;
	int timed_out, error;
} families[] = {
	{ "the oldest", "pthread_cond", OLDEST, "normal", sizeof(void *),
	  ETIMEDOUT, EINVAL },
	{ "pthread", "pthread_cond", CONDVARS, "normal", sizeof(cond),
	  ETIMEDOUT, EINVAL },
	{ "C11", "cnd", "GLIBC_2.28", "normal", sizeof(cnd_t), thrd_timedout,
	  thrd_error },
	{ "later C11", "cnd", "GLIBC_2.34", "recursive", sizeof(cnd_t),
	  thrd_timedout, thrd_error },
}, *family;

/* The functions of the family, and a condvar in the last bytes of a page. */
static struct {
	int (*wait)(pthread_cond_t *cond, pthread_mutex_t *mutex);
	int (*timedwait)(pthread_cond_t *cond, pthread_mutex_t *mutex,
			 const struct timespec *deadline);
	int (*signal)(pthread_cond_t *cond);
	int (*broadcast)(pthread_cond_t *cond);
	int (*init)(pthread_cond_t *cond, const void *attr);
	int (*destroy)(pthread_cond_t *cond);
} call;
static pthread_cond_t *used;

static const struct {
	const char *name;
	void **call;
} functions[] = {
	{ "wait", (void **)&call.wait },
	{ "timedwait", (void **)&call.timedwait },
	{ "signal", (void **)&call.signal },
	{ "broadcast", (void **)&call.broadcast },
	{ "init", (void **)&call.init },
	{ "destroy", (void **)&call.destroy },
};

#define NR_FUNCTIONS 6
#define NR_SCENES    4

STEP_IS(init, call.init(used, NULL));

STEP_DO(fill, memset(used, args[0], family->size));
STEP_DO(waits,
	scene_add(args[0], &(struct member){ .cond = used, .wait = call.wait },
		  true));
STEP_IS(signals, call.signal(used));
STEP_IS(broadcasts, call.broadcast(used));

STEP(soon)
{
	struct timespec soon = deadline_in(CLOCK_REALTIME, 2 * NS_PER_MS);
	int err;

	pthread_mutex_lock(&mutex);
	err = call.timedwait(used, &mutex, &soon);
	pthread_mutex_unlock(&mutex);
	return err == family->timed_out &&
	       deadline_passed(CLOCK_REALTIME, &soon);
}

STEP(bad_time)
{
	const struct timespec bad = { .tv_nsec = -1 };
	int err;

	pthread_mutex_lock(&mutex);
	err = call.timedwait(used, &mutex, &bad);
	pthread_mutex_unlock(&mutex);
	return err == family->error;
}

STEP_DO(destroys, call.destroy(used));

#define ALL_CALLS                                                    \
	"signals = 0; waits 3; signals = 0; gone 1; returned = 1;"   \
	"broadcasts = 0; gone 3; zeros = 3; soon = 1; bad_time = 1;" \
	"destroys"

static const struct scene scenes[NR_SCENES] = {
	{ "init over garbage", "fill 0xa5; init = 0; " ALL_CALLS },
	{ "init after destroy", "init = 0; " ALL_CALLS },
	{ "init, and destroy of an unused condvar", "init = 0; destroys" },
	{ "a condvar of zero bytes", "fill 0; " ALL_CALLS },
};

static void *test_symbol(const char *prefix, const char *name,
			 const char *version)
{
	char symbol[40];
	void *function;

	snprintf(symbol, sizeof(symbol), "%s_%s", prefix, name);
	function = dlvsym(RTLD_DEFAULT, symbol, version);
	tap_ok(function && (!drop_in_wanted() || drop_in_owns(function)),
	       "%s@%s %s", symbol, version,
	       drop_in_wanted() ? "is the library's" : "exists");
	return function;
}

static void test_family(char *page_end)
{
	for (int i = 0; i < NR_FUNCTIONS; i++)
		*functions[i].call = test_symbol(
			family->prefix, functions[i].name, family->version);
	used = (void *)(page_end - family->size);
	scene_start("", family->mutex, false);
	if (family->size < sizeof(cond) && !strcmp(OLDEST, CONDVARS))
		tap_skip_all(NR_SCENES, family->name,
			     "this port has one generation");
	else
		scenes_test(family->name, scenes, NR_SCENES);
}

int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE);
	char *page_end = map_pages(2 * page);

	drop_in_load(argv);
	page_end += page;
	MUST(mprotect(page_end, page, PROT_NONE));
	tap_plan(NR_OF(families) * (NR_FUNCTIONS + NR_SCENES) + 2);
	for (family = families; family < families + NR_OF(families); family++)
		test_family(page_end);
	test_symbol("pthread_cond", "clockwait", "GLIBC_2.30");
	test_symbol("pthread_cond", "clockwait", "GLIBC_2.34");
	return tap_exit();
}
