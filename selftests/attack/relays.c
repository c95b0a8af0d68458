// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are signalled one by one, when only one of them can run: the
 * signaller wakes the first, and each of them the next; the last of them after it
 * gave way. Whether they do so is forced.
 */
#include <sched.h>

#include "crew.h"
#include "futex_call.h"
#include "policy.h"
#include "watchdog.h"

#define NR_WAITERS 8

/* So many that are left are waited for. */
#define FEW 4

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct crew crew;

/* Nobody comes back from a sleep as long as this is so. */
static atomic_bool hold_back;
static _Thread_local bool is_signaller;

/* How many were woken by the signaller, and by each other; who gave way before. */
static int nr_woken;
static atomic_int nr_relayed, nr_gave_way;
static _Thread_local bool gave_way;

/* What the library calls. */
int sched_yield(void)
{
	gave_way = true;
	return (int)syscall(SYS_sched_yield);
}

static void note(const void *word, int command)
{
	if (command != FUTEX_WAKE || api_mutex_has(&mutex, word))
		return;
	if (is_signaller) {
		nr_woken++;
		return;
	}
	atomic_fetch_add(&nr_relayed, 1);
	if (gave_way)
		atomic_fetch_add(&nr_gave_way, 1);
}

long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	long ret;

	note(word, op & FUTEX_CMD_MASK);
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	while (!is_signaller && atomic_load(&hold_back))
		syscall(SYS_sched_yield);
	return ret;
}

/* @nr signals while nobody comes back. */
static void signal_all(const char *what, bool held, int nr)
{
	watchdog(what);
	nr_woken = 0;
	atomic_store(&nr_relayed, 0);
	atomic_store(&nr_gave_way, 0);
	crew = crew_of(&cond, &mutex, NR_WAITERS);
	crew_add(&crew, NR_WAITERS);
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(&crew.members[i]);
	atomic_store(&hold_back, true);
	if (held)
		api_mutex_lock(&mutex);
	for (int i = 0; i < nr; i++)
		api_cond_signal(&cond);
	if (held)
		api_mutex_unlock(&mutex);
	atomic_store(&hold_back, false);
	crew_gone(&crew, nr);
}

static void test_signals(const char *what, bool held, bool relays)
{
	int nr_others = relays ? NR_WAITERS - 1 : 0;

	signal_all(what, held, NR_WAITERS);
	tap_is(crew_results(&crew, 0), NR_WAITERS, "%s: all return", what);
	tap_is(nr_woken, NR_WAITERS - nr_others, "%s: the signaller wakes %d",
	       what, NR_WAITERS - nr_others);
	tap_is(nr_relayed, nr_others, "%s: they wake %d themselves", what,
	       nr_others);
	tap_is(nr_gave_way, relays ? FEW : 0,
	       "%s: the last after they gave way", what);
	crew_end(&crew);
}

/* Fewer signals than waiters, and then a broadcast. */
static void test_broadcast(bool relays)
{
	const char *what = "some, then all";
	int nr = NR_WAITERS / 2;

	signal_all(what, true, nr);
	tap_is(nr_woken, relays ? 1 : nr, "%s: the signaller wakes %d", what,
	       relays ? 1 : nr);
	tap_is(nr_relayed, relays ? nr - 1 : 0, "%s: they wake the others",
	       what);
	api_cond_broadcast(&cond);
	crew_gone(&crew, NR_WAITERS);
	tap_is(crew_results(&crew, 0), NR_WAITERS, "%s: all return", what);
	crew_end(&crew);
}

static void test(const char *policy)
{
	bool relays = !strstr(policy, "no-relay");

	is_signaller = true;
	test_signals("mutex free", false, relays);
	test_signals("mutex held", true, relays);
	test_broadcast(relays);
}

static const char *const names[] = {
	"auto,early,look=0,watch=0,relay",
	"auto,early,look=0,watch=0,no-relay",
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, 2 };

	(void)argc;
	return policies_main(argv, list, 11, test);
}
