// SPDX-License-Identifier: GPL-2.0-only
/*
 * Those who give way before they sleep are released without a sleep, if they are
 * called meanwhile; and sleep, to be woken, if not. With a near deadline they do
 * not give way. Whether they do is forced.
 */
#include "args.h"
#include "crew.h"
#include "deadline.h"
#include "futex_call.h"
#include "policy.h"
#include "watchdog.h"

#define NR_WAITERS 6

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static struct crew crew;

/* How many gave way, and slept; and whether those who give way may go on. */
static atomic_int nr_gave_way, nr_slept;
static atomic_bool may_go_on;
static _Thread_local bool is_main;

/* What the library calls. */
int sched_yield(void)
{
	if (is_main || atomic_load(&may_go_on))
		return (int)syscall(SYS_sched_yield);
	atomic_fetch_add(&nr_gave_way, 1);
	while (!atomic_load(&may_go_on))
		syscall(SYS_sched_yield);
	return 0;
}

long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	if (!api_mutex_has(&mutex, word) &&
	    (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		atomic_fetch_add(&nr_slept, 1);
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void begin(const char *what, const struct timespec *deadline)
{
	const struct member how = {
		.deadline = deadline,
		.clock = CLOCK_MONOTONIC,
	};

	watchdog(what);
	crew = crew_of(&cond, &mutex, NR_WAITERS);
	atomic_store(&nr_gave_way, 0);
	atomic_store(&nr_slept, 0);
	atomic_store(&may_go_on, false);
	for (int i = 0; i < NR_WAITERS; i++)
		crew_start(&crew, &how);
}

static void call(bool held)
{
	api_mutex_lock(&mutex);
	if (!held)
		api_mutex_unlock(&mutex);
	api_cond_broadcast(&cond);
	if (held)
		api_mutex_unlock(&mutex);
}

/* All give way, and are called. */
static void test_called(const char *what, bool held)
{
	begin(what, NULL);
	if (wait_at_least(&nr_gave_way, NR_WAITERS))
		tap_bail("%d gave way", atomic_load(&nr_gave_way));
	call(held);
	atomic_store(&may_go_on, true);
	crew_end(&crew);
	tap_is(atomic_load(&nr_slept), 0, "%s: nobody has slept", what);
}

/* All give way, and are not. */
static void test_late(const char *what, bool held)
{
	begin(what, NULL);
	if (wait_at_least(&nr_gave_way, NR_WAITERS))
		tap_bail("%d gave way", atomic_load(&nr_gave_way));
	atomic_store(&may_go_on, true);
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(&crew.members[i]);
	call(held);
	crew_end(&crew);
	tap_is(crew.nr, NR_WAITERS, "%s: all are woken", what);
}

static void test_deadline(void)
{
	struct timespec past = { 0, 1 };

	begin("a deadline", &past);
	crew_gone(&crew, NR_WAITERS);
	tap_is(crew_results(&crew, ETIMEDOUT), NR_WAITERS, "deadlines pass");
	crew_end(&crew);
	tap_is(atomic_load(&nr_gave_way), 0, "and nobody gives way before");
}

/* Nobody gives way. */
static void test_asleep(const char *what, bool held)
{
	begin(what, NULL);
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(&crew.members[i]);
	call(held);
	crew_end(&crew);
	tap_is(atomic_load(&nr_gave_way), 0, "%s: nobody gives way", what);
	tap_ok(atomic_load(&nr_slept) >= NR_WAITERS, "%s: all sleep", what);
}

static void test(const char *policy)
{
	is_main = true;
	if (strstr(policy, "no-stay")) {
		test_asleep("not held", false);
		test_asleep("held", true);
		test_deadline();
	} else {
		test_called("called", false);
		test_called("called, mutex held", true);
		test_late("late", false);
		test_late("late, mutex held", true);
		test_deadline();
	}
}

/* The first of a group looks for its signal in no other way. */
static const char *const names[] = {
	"auto,look=0,watch=0,stay",
	"auto,look=0,watch=0,no-stay",
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, 2 };

	args_parse(argc, argv, "");
	return policies_main(argv, list, 6, test);
}
