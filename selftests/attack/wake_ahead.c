// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wake-ahead: the first of those that were moved to the mutex wakes a few more
 * at once, if it finds the mutex free; once for each broadcast, and not where
 * the policy is to move and do nothing else. And slices: the mutex's holder
 * moves a few at each call; another one has to move all at once.
 *
 * APIs: drover pthread
 */
#include "base/linger.h"
#include "fixture.h"
#include "futex_call.h"
#include "run.h"

#define NR_WAITERS 20
#define NR_MANY	   150
#define SLICE	   64 /* lib/cond/wake.c */

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct fixture fixture;
static atomic_int nr_ahead, nr_requeues;
static atomic_long most_moved;
static _Thread_local bool takes_it_back; /* before its unlock wakes anybody */

static void take_back(void)
{
	takes_it_back = false;
	api_mutex_lock(&mutex);
}

/* What the library calls. An unlock wakes one. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	if ((op & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE) {
		atomic_fetch_add(&nr_requeues, 1);
		if ((long)timeout_or_val2 > atomic_load(&most_moved))
			atomic_store(&most_moved, (long)timeout_or_val2);
	}
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE &&
	    api_mutex_has(&mutex, word)) {
		if (val > 1)
			atomic_fetch_add(&nr_ahead, 1);
		if (takes_it_back)
			take_back();
	}
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void *broadcaster(void *unused)
{
	api_cond_broadcast(&cond);
	return unused;
}

/* With the mutex held by this thread, by this one or by @another. */
static void broadcast(int nr, bool another)
{
	fixture = fixture_of(&cond, &mutex, nr);
	fixture_add(&fixture, nr);
	atomic_store(&nr_ahead, 0);
	atomic_store(&nr_requeues, 0);
	atomic_store(&most_moved, 0);
	api_mutex_lock(&mutex);
	if (!another) {
		api_cond_broadcast(&cond);
		return;
	}
	joined(thread_of(broadcaster, NULL));
}

static void all_return(int nr)
{
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, nr);
	fixture_end(&fixture);
}

static void test_slices(const char *policy)
{
	broadcast(NR_MANY, false);
	tap_ok(atomic_load(&nr_requeues) == 3 && most_moved == SLICE,
	       "%s: the holder moves 150 by three calls", policy);
	all_return(NR_MANY);
	broadcast(NR_MANY, true);
	tap_ok(atomic_load(&nr_requeues) == 1 && most_moved > NR_MANY,
	       "%s: another one moves them by one", policy);
	all_return(NR_MANY);
}

static void test(const char *policy)
{
	int expected = strcmp(policy, "auto") == 0 && linger_has_cpu();

	watchdog("a broadcast");
	test_slices(policy);
	broadcast(NR_WAITERS, false);
	all_return(NR_WAITERS);
	tap_is(atomic_load(&nr_ahead), expected,
	       "%s: the mutex is free: one wakes ahead", policy);
	/* The native mutex wakes by a call, glibc's by one of its own. */
	if (API_IS_PTHREAD)
		return;
	broadcast(NR_WAITERS, false);
	takes_it_back = true;
	api_mutex_unlock(&mutex);
	fixture_count(&fixture, RETURNED);
	tap_is(atomic_load(&nr_ahead), 0, "%s: it is taken: not yet", policy);
	all_return(NR_WAITERS);
	tap_is(atomic_load(&nr_ahead), expected, "%s: but then", policy);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "auto", "requeue" };

	args_parse(argc, argv, "");
	return policies_main(argv, (struct policy_list){ names, 2 }, test);
}
