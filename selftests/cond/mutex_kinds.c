// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of mutex, with a private and with a process-shared condvar: it
 * works, and is moved to or not as the table in cond-design.rst has it. Who was
 * woken sleeps on the mutex afterwards; who was moved is still in its first
 * sleep.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define NR_RESULTS 7

/* Where a broadcast by the holder moves waiters of a private condvar. */
enum moves {
	NEVER,
	BY_POLICY,
	BY_KERNEL, /* which hands the mutex over: the policy is not asked */
};

#if API_IS_PTHREAD

struct kind {
	const char *name;
	enum moves moves;
	int type, robust, protocol, pshared;
	bool elided;
	bool moves_shared;
};

/*
 * What glibc adds to __kind where it elides locks. Without the hardware it must
 * not try: so many times it does not, and it has no trylock at all.
 */
#define KIND_ELIDED 256
#define NOT_YET	    30000

#define SHARED	PTHREAD_PROCESS_SHARED
#define ROBUST	PTHREAD_MUTEX_ROBUST
#define INHERIT PTHREAD_PRIO_INHERIT

static const struct kind kinds[] = {
	{ "normal", BY_POLICY, 0, 0, 0, 0, false, false },
	{ "recursive", BY_POLICY, .type = PTHREAD_MUTEX_RECURSIVE },
	{ "errorcheck", BY_POLICY, .type = PTHREAD_MUTEX_ERRORCHECK },
	{ "adaptive", BY_POLICY, .type = PTHREAD_MUTEX_ADAPTIVE_NP },
	{ "robust", NEVER, .robust = ROBUST },
	{ "PI", BY_KERNEL, .protocol = INHERIT },
	{ "PI, recursive", BY_KERNEL, .type = PTHREAD_MUTEX_RECURSIVE,
	  .protocol = INHERIT },
	{ "PI, robust", NEVER, .robust = ROBUST, .protocol = INHERIT },
	{ "protect", NEVER, .protocol = PTHREAD_PRIO_PROTECT },
#ifdef __x86_64__
	{ "elided", NEVER, .elided = true },
#endif
	{ "shared", NEVER, .pshared = SHARED },
	{ "shared, robust", NEVER, .robust = ROBUST, .pshared = SHARED },
	{ "shared, PI", NEVER, .protocol = INHERIT, .pshared = SHARED },
};

static int mutex_init(pthread_mutex_t *mutex, const struct kind *kind)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, kind->type);
	pthread_mutexattr_setrobust(&attr, kind->robust);
	pthread_mutexattr_setprotocol(&attr, kind->protocol);
	pthread_mutexattr_setpshared(&attr, kind->pshared);
	err = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
#ifdef __x86_64__
	if (kind->elided) {
		mutex->__data.__kind |= KIND_ELIDED;
		/* After __spins; since glibc 2.43 it has another name. */
		(&mutex->__data.__spins)[1] = NOT_YET;
	}
#endif
	return err;
}

static bool has_ceiling(const struct kind *kind)
{
	return kind->protocol == PTHREAD_PRIO_PROTECT;
}

#else /* native */

struct kind {
	const char *name;
	enum moves moves;
	uint32_t flags;
	bool moves_shared; /* those of a shared condvar, if told the mutex */
};

#define SHARED DROVER_MUTEX_SHARED
#define ROBUST DROVER_MUTEX_ROBUST

static const struct kind kinds[] = {
	{ "normal", BY_POLICY, 0, false },
	{ "recursive", BY_POLICY, DROVER_MUTEX_RECURSIVE, false },
	{ "errorcheck", BY_POLICY, DROVER_MUTEX_ERRORCHECK, false },
	{ "robust", BY_KERNEL, ROBUST, false },
	{ "PI", BY_KERNEL, DROVER_MUTEX_PI, false },
	{ "PI, recursive", BY_KERNEL, DROVER_MUTEX_PI | DROVER_MUTEX_RECURSIVE,
	  false },
	{ "PI, robust", BY_KERNEL, DROVER_MUTEX_PI | ROBUST, false },
	{ "shared", NEVER, SHARED, true },
	{ "shared, robust", NEVER, SHARED | ROBUST, false },
	{ "shared, PI", NEVER, SHARED | DROVER_MUTEX_PI, false },
};

static int mutex_init(drover_mutex_t *mutex, const struct kind *kind)
{
	const drover_mutexattr_t attr = { .flags = kind->flags };

	return drover_mutex_init(mutex, &attr);
}

static bool has_ceiling(const struct kind *kind)
{
	return false;
}

#endif

static void *mutex_is_busy(void *busy)
{
	const struct timespec past = { 0, 0 };

	*(int *)busy = kind_timedlock(&mutex, &past) == ETIMEDOUT;
	return NULL;
}

/* Another thread asks. */
STEP(busy)
{
	int busy;

	joined(thread_of(mutex_is_busy, &busy));
	return busy;
}

/* How many a broadcast by the holder wakes, which is told the mutex or not. */
NUMBER(some, 0);
NUMBER(some_on, 0);

static const struct scene scenes[] = {
	{ "a signal, mutex free, returns one", "wait 4; each 4 0 = 1" },
	{ "a signal, mutex held, returns one", "wait 4; each 4 1 = 1" },
	{ "a broadcast, mutex free, returns all",
	  "wait 4; broadcast; gone 4; zeros = 4" },
	{ "a broadcast, mutex held, returns all",
	  "wait 4; lock; broadcast; unlock; gone 4; zeros = 4" },
	{ "a broadcast by the holder wakes some",
	  "wait 4; lock; broadcast; at_mutex = some" },
	{ "a broadcast_on by the holder wakes some",
	  "wait 4; lock; broadcast_on; at_mutex = some_on" },
	{ "a timeout, with the mutex held",
	  "lock; time_out = ETIMEDOUT; busy = 1; unlock = 0" },
};

static void *try_lock(void *may)
{
	*(bool *)may = api_mutex_lock(&mutex) == 0;
	if (*(bool *)may)
		api_mutex_unlock(&mutex);
	return NULL;
}

/*
 * Only a real-time thread can lock a mutex with a priority ceiling, and may not
 * be above it. Threads that are created inherit that.
 */
static void set_priority(bool ceiling)
{
	struct sched_param param = { .sched_priority = ceiling };

	pthread_setschedparam(pthread_self(),
			      ceiling ? SCHED_FIFO : SCHED_OTHER, &param);
}

/* And not everybody may be a real-time thread. */
static bool may_lock(const struct kind *kind)
{
	bool may;

	if (has_ceiling(kind) && !ANY_LOCK_MAY_FAIL)
		return false;
	joined(thread_of(try_lock, &may));
	return may;
}

/* Of processes nobody is sure who is the holder, unless the mutex is told. */
static void expect(const struct kind *kind, bool shared)
{
	bool may_move = policy_moves(scene_policy);
	bool moves = kind->moves == BY_KERNEL ?
			     !variant_is("none") :
			     kind->moves == BY_POLICY && may_move;

	word_some.value = moves && !shared ? 0 : 4;
	word_some_on.value = word_some.value;
	if (shared && kind->moves_shared && may_move)
		word_some_on.value = 1;
}

static void test_kind(const char *policy, const struct kind *kind, bool shared)
{
	static char label[128];

	snprintf(label, sizeof(label), "%s: %s mutex, %s condvar", policy,
		 kind->name, shared ? "shared" : "private");
	scene_start(policy, "normal", shared);
	if (mutex_init(&mutex, kind))
		tap_bail("%s: init", label);
	set_priority(has_ceiling(kind));
	expect(kind, shared);
	if (may_lock(kind))
		scenes_test(label, scenes, NR_RESULTS);
	else
		tap_skip_all(NR_RESULTS, label, "this user may not lock it");
}

#if API_IS_PTHREAD

#define NR_OF_ATTRIBUTES 0

static void test_attributes(void)
{
}

#else

#define NR_OF_ATTRIBUTES 4

static void test_clock(clockid_t clock)
{
	drover_mutex_t plain = DROVER_MUTEX_INITIALIZER;
	drover_condattr_t attr = { .clock = clock };
	struct timespec soon = deadline_in(clock, NS_PER_MS);
	drover_cond_t with;

	drover_cond_init(&with, &attr);
	drover_mutex_lock(&plain);
	tap_ok(drover_cond_timedwait(&with, &plain, &soon) == ETIMEDOUT &&
		       deadline_passed(clock, &soon),
	       "timedwait is on the attribute's clock %d", clock);
	drover_mutex_unlock(&plain);
}

static void test_attributes(void)
{
	drover_condattr_t flag = { .flags = 0x80 };
	drover_condattr_t clock = { .clock = CLOCK_PROCESS_CPUTIME_ID };
	drover_cond_t with;

	tap_is(drover_cond_init(&with, &flag), EINVAL, "an unknown flag");
	tap_is(drover_cond_init(&with, &clock), EINVAL, "an unusable clock");
	test_clock(CLOCK_REALTIME);
	test_clock(CLOCK_MONOTONIC);
}

#endif

static void test(const char *policy)
{
	for (int i = 0; i < NR_OF(kinds); i++) {
		test_kind(policy, &kinds[i], false);
		test_kind(policy, &kinds[i], true);
	}
	test_attributes();
}

int main(int argc, char **argv)
{
	api_start(argv);
	return policy_main(argv, test);
}
