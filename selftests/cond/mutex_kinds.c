// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of mutex, with a private and with a process-shared condvar: it
 * works, and is moved to or not as the table in cond-design.rst has it.
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

static const struct kind {
	const char *name;
	enum moves moves;
	bool shared;
	bool moves_shared; /* those of a shared condvar, if told the mutex */
	bool elided;
} kinds[] = {
	{ "normal", .moves = BY_POLICY },
	{ "recursive", .moves = BY_POLICY },
	{ "errorcheck", .moves = BY_POLICY },
	{ "PI", .moves = BY_KERNEL },
	{ "recursive PI", .moves = BY_KERNEL },
#if API_IS_PTHREAD
	{ "adaptive", .moves = BY_POLICY },
	{ "robust", .moves = NEVER },
	{ "robust PI", .moves = NEVER },
	{ "protect", .moves = NEVER },
#ifdef __x86_64__
	{ "normal", .moves = NEVER, .elided = true },
#endif
	{ "normal", .moves = NEVER, .shared = true },
#else
	{ "robust", .moves = BY_KERNEL },
	{ "robust PI", .moves = BY_KERNEL },
	{ "normal", .moves = NEVER, .shared = true, .moves_shared = true },
#endif
	{ "robust", .moves = NEVER, .shared = true },
	{ "PI", .moves = NEVER, .shared = true },
};

/*
 * What glibc adds to __kind where it elides locks. Without the hardware it must
 * not try: so many times it does not, and it has no trylock at all.
 */
#define KIND_ELIDED 256
#define NOT_YET	    30000

static int mutex_init(const struct kind *kind)
{
	int err = kind_mutex_init(&mutex, kind_named(kind->name), kind->shared);

#if API_IS_PTHREAD && defined(__x86_64__)
	if (kind->elided) {
		mutex.__data.__kind |= KIND_ELIDED;
		/* After __spins; since glibc 2.43 it has another name. */
		(&mutex.__data.__spins)[1] = NOT_YET;
	}
#endif
	return err;
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
 * be above it. Threads that are created inherit that. And not everybody may be
 * a real-time thread.
 */
static bool may_lock(const struct kind *kind)
{
	bool may, ceiling = !strcmp(kind->name, "protect");
	struct sched_param param = { .sched_priority = ceiling };

	pthread_setschedparam(pthread_self(),
			      ceiling ? SCHED_FIFO : SCHED_OTHER, &param);
	if (ceiling && !ANY_LOCK_MAY_FAIL)
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

	snprintf(label, sizeof(label), "%s: %s%s mutex, %s condvar", policy,
		 kind->shared ? "shared " :
		 kind->elided ? "elided " :
				"",
		 kind->name, shared ? "shared" : "private");
	scene_start(policy, "normal", shared);
	MUST(mutex_init(kind));
	expect(kind, shared);
	if (may_lock(kind))
		scenes_test(label, scenes, NR_RESULTS);
	else
		tap_skip_all(NR_RESULTS, label, "this user may not lock it");
}

#if !API_IS_PTHREAD

static void test_attributes(void)
{
	drover_condattr_t flag = { .flags = 0x80 };
	drover_condattr_t clock = { .clock = CLOCK_PROCESS_CPUTIME_ID };
	drover_cond_t with;

	tap_is(drover_cond_init(&with, &flag), EINVAL, "an unknown flag");
	tap_is(drover_cond_init(&with, &clock), EINVAL, "an unusable clock");
}

/*
 * Waiters of a shared condvar were moved to their mutex. Later others wait on it
 * with a mutex that nobody can be moved to: what a moved thread does to its mutex
 * must not be done to that one. A PI mutex lost its holder, and its waiter slept
 * for ever.
 */
static const struct {
	const char *name;
	uint32_t flags;
	const char *steps;
} others_after[] = {
	{ "moved", 0, "wait 2; lock; broadcast_on; unlock; gone 2" },
	{ "then PI", DROVER_MUTEX_PI, "wait 2; each 2 1 = 1" },
	{ "then robust", DROVER_MUTEX_ROBUST, "wait 2; each 2 1 = 1" },
	{ "then recursive", DROVER_MUTEX_RECURSIVE, "wait 2; each 2 1 = 1" },
	{ "then recursive, locked twice", DROVER_MUTEX_RECURSIVE,
	  "lock; lock; time_out = ETIMEDOUT; unlock; unlock" },
};

static void test_others_after(const char *policy)
{
	scene_start(policy, "normal", true);
	for (int i = 0; i < NR_OF(others_after); i++) {
		const drover_mutexattr_t attr = {
			.flags = DROVER_MUTEX_SHARED | others_after[i].flags,
		};

		MUST(drover_mutex_init(&mutex, &attr));
		tap_ok(scene_holds(others_after[i].steps) &&
			       drover_mutex_trylock(&mutex) == 0,
		       "%s: %s: all return", policy, others_after[i].name);
		drover_mutex_unlock(&mutex);
	}
}

#endif

static void test(const char *policy)
{
	for (int i = 0; i < NR_OF(kinds); i++) {
		test_kind(policy, &kinds[i], false);
		test_kind(policy, &kinds[i], true);
	}
#if !API_IS_PTHREAD
	test_attributes();
	test_others_after(policy);
#endif
}

POLICY_MAIN(test)
