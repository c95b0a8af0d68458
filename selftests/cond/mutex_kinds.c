// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of mutex, with a private and with a process-shared condvar: it
 * works, and is moved to or not as the table in cond-design.rst has it. Its errors
 * come out of the wait, and lose no waiter: EPERM when the caller does not hold
 * it, EOWNERDEAD and ENOTRECOVERABLE when its holder has died.
 *
 * APIs: drover pthread
 */
#include "steps.h"

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

/* The main thread waits without the mutex. */
STEP_IS(wait_not_held, api_cond_wait(&cond, &mutex));

/* The holder wakes some, and ends without unlocking. */
static void *die_as_holder(void *wake)
{
	api_mutex_lock(&mutex);
	((long (*)(const long *))wake)((long[]){ 1 });
	return NULL;
}

STEP_DO(die_after, joined(thread_of(die_as_holder, (void *)args[0])));

static void repair(struct member *member)
{
	if (member->result == EOWNERDEAD)
		API(mutex_consistent)(&mutex);
}

STEP_DO(wait_and_repair,
	scene_add(1, &(struct member){ .then = repair }, true));

static const struct scene not_held[] = {
	{ "not held: EPERM, and no waiter is lost",
	  "wait 3; wait_not_held = EPERM; time_out = EPERM; waiting = 3;"
	  "signal; gone 1; wait_not_held = EPERM; broadcast; gone 3;"
	  "zeros = 3" },
};

/*
 * The unlock without making it consistent spoils the mutex. Two waiters: of
 * three, glibc's own lock of a spoilt mutex may leave the last one asleep.
 */
static const struct scene robust[] = {
	{ "the holder died after a signal, repaired: as before",
	  "wait_and_repair; die_after signal; gone 1; result 0 = EOWNERDEAD;"
	  "wait; lock; signal; unlock; gone 2; result 1 = 0" },
	{ "the holder died, given up: EOWNERDEAD and ENOTRECOVERABLE",
	  "wait 2; die_after broadcast; gone 2; results EOWNERDEAD = 1;"
	  "results ENOTRECOVERABLE = 1" },
};

/* Does the mutex know its holder? */
static bool knows_holder(const struct mutex_kind *kind)
{
#if API_IS_PTHREAD
	return kind->robust || kind->protocol == PTHREAD_PRIO_INHERIT ||
	       kind->type == PTHREAD_MUTEX_ERRORCHECK ||
	       kind->type == PTHREAD_MUTEX_RECURSIVE;
#else
	return true;
#endif
}

static void test_errors(const char *label, const struct mutex_kind *kind)
{
	void *list;
	size_t size;

	if (knows_holder(kind))
		scenes_test(label, not_held, 1);
	if (strncmp(kind->name, "robust", 6))
		return;
	/* ThreadSanitizer does not see the kernel hand over a mutex of ours. */
	if (!NO_TSAN && !API_IS_PTHREAD)
		tap_skip_all(2, label, "the sanitizer takes it for a race");
	/* Not in an emulator's processes. */
	else if (syscall(SYS_get_robust_list, 0, &list, &size))
		tap_skip_all(2, label, "no robust lists here");
	else
		scenes_test(label, robust, 2);
}

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
	if (!may_lock(kind)) {
		tap_skip_all(NR_OF(scenes), label, "this user may not lock it");
		return;
	}
	scenes_test(label, scenes, NR_OF(scenes));
	test_errors(label, kind_named(kind->name));
}

/*
 * Waiters of a shared condvar were moved to their mutex. Later others wait on it
 * with a mutex that nobody can be moved to: what a moved thread does to its mutex
 * must not be done to that one. A PI mutex lost its holder, and its waiter slept
 * for ever.
 */
static const struct {
	const char *kind;
	struct scene scene;
} others_after[] = {
	{ "normal", { "moved", "wait 2; lock; broadcast_on; unlock; gone 2" } },
	{ "PI", { "then PI", "wait 2; each 2 1 = 1; busy = 0" } },
	{ "robust", { "then robust", "wait 2; each 2 1 = 1; busy = 0" } },
	{ "recursive", { "then recursive", "wait 2; each 2 1 = 1; busy = 0" } },
	{ "recursive",
	  { "then recursive, locked twice",
	    "lock; lock; time_out = ETIMEDOUT; unlock; unlock; busy = 0" } },
};

static void test_others_after(const char *policy)
{
	scene_start(policy, "normal", true);
	for (int i = 0; i < NR_OF(others_after); i++) {
		MUST(kind_mutex_init(&mutex, kind_named(others_after[i].kind),
				     true));
		scenes_test(policy, &others_after[i].scene, 1);
	}
}

static void test(const char *policy)
{
	for (int i = 0; i < NR_OF(kinds); i++) {
		test_kind(policy, &kinds[i], false);
		test_kind(policy, &kinds[i], true);
	}
	test_others_after(policy);
#if !API_IS_PTHREAD
	IS(EINVAL,
	   drover_cond_init(&cond, &(drover_condattr_t){ .flags = 0x80 }));
	IS(EINVAL, drover_cond_init(
			   &cond, &(drover_condattr_t){
					  .clock = CLOCK_PROCESS_CPUTIME_ID }));
#endif
}

POLICY_MAIN(test)
