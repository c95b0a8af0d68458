// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wake-ahead: the first of those that were moved to the mutex wakes a few more
 * at once, if it finds the mutex free; once for each broadcast, and not where
 * the policy is to move and do nothing else.
 *
 * APIs: drover pthread
 */
#include "base/linger.h"
#include "fixture.h"
#include "futex_call.h"
#include "run.h"

#define NR_WAITERS 20

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct fixture fixture;
static atomic_int nr_ahead;
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
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE &&
	    api_mutex_has(&mutex, word)) {
		if (val > 1)
			atomic_fetch_add(&nr_ahead, 1);
		if (takes_it_back)
			take_back();
	}
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void broadcast(void)
{
	fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	fixture_add(&fixture, NR_WAITERS);
	atomic_store(&nr_ahead, 0);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
}

static void all_return(void)
{
	api_mutex_unlock(&mutex);
	fixture_gone(&fixture, NR_WAITERS);
	fixture_end(&fixture);
}

static void test(const char *policy)
{
	int expected = strcmp(policy, "auto") == 0 && linger_has_cpu();

	watchdog("a broadcast");
	broadcast();
	all_return();
	tap_is(atomic_load(&nr_ahead), expected,
	       "%s: the mutex is free: one wakes ahead", policy);
	/* The native mutex wakes by a call, glibc's by one of its own. */
	if (API_IS_PTHREAD)
		return;
	broadcast();
	takes_it_back = true;
	api_mutex_unlock(&mutex);
	fixture_count(&fixture, RETURNED);
	tap_is(atomic_load(&nr_ahead), 0, "%s: it is taken: not yet", policy);
	all_return();
	tap_is(atomic_load(&nr_ahead), expected, "%s: but then", policy);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "auto", "requeue" };

	args_parse(argc, argv, "");
	return policies_main(argv, (struct policy_list){ names, 2 },
			     API_IS_PTHREAD ? 1 : 3, test);
}
