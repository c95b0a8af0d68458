// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every kind of mutex, with a private and with a process-shared condvar: waits
 * work, and a broadcast moves waiters to the mutex or does not, as the table in
 * cond-design.rst says. The wait returns the mutex's errors, and loses no
 * waiter: EPERM if the caller does not hold the mutex, EOWNERDEAD and
 * ENOTRECOVERABLE if its holder has died.
 *
 * APIs: drover pthread
 */
#include "steps.h"

/* When a broadcast by the mutex's holder moves waiters of a private condvar. */
enum moves {
	NEVER,
	BY_POLICY,
	BY_KERNEL, /* the kernel hands the mutex over, whatever the policy */
};

static const struct kind {
	const char *name;
	enum moves moves;
	bool shared;
	bool moves_shared; /* of a shared one, if the call names the mutex */
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
 * glibc sets this bit in __kind of a mutex whose lock it elides. Without the
 * hardware it must not try: the counter makes it lock in the ordinary way so
 * many times. The test makes no trylock, which glibc would elide.
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

/* How many waiters drover_cond_broadcast() and ..._on() by the holder wake. */
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

/* The holder makes a call that wakes, and ends without unlocking. */
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
	{ "the mutex is not held: EPERM, and no waiter is lost",
	  "wait 3; wait_not_held = EPERM; time_out = EPERM; waiting = 3;"
	  "signal; gone 1; wait_not_held = EPERM; broadcast; gone 3;"
	  "zeros = 3" },
};

/*
 * An unlock spoils the mutex if it was not made consistent. There are two
 * waiters, because glibc's own lock may leave the last of three waiters for a
 * spoilt mutex asleep.
 */
static const struct scene robust[] = {
	{ "the holder died after a signal, and the mutex is repaired",
	  "wait_and_repair; die_after signal; gone 1; result 0 = EOWNERDEAD;"
	  "wait; lock; signal; unlock; gone 2; result 1 = 0" },
	{ "the holder died, and the mutex is spoilt: ENOTRECOVERABLE",
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
	/*
	 * ThreadSanitizer does not see that the kernel hands over the library's
	 * own mutex.
	 */
	if (!NO_TSAN && !API_IS_PTHREAD)
		tap_skip_all(2, label,
			     "ThreadSanitizer takes the hand-over for a race");
	/* An emulator may have no robust lists. */
	else if (syscall(SYS_get_robust_list, 0, &list, &size))
		tap_skip_all(2, label, "the kernel has no robust lists");
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
 * Only a real-time thread whose priority is not above the ceiling can lock a
 * mutex with a priority ceiling. New threads inherit the priority. Not every
 * user may have real-time threads.
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

/*
 * A shared condvar does not know its waiters' mutex, so a broadcast moves them
 * only if the call names the mutex.
 */
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
		tap_skip_all(NR_OF(scenes), label,
			     "this user may not lock such a mutex");
		return;
	}
	scenes_test(label, scenes, NR_OF(scenes));
	test_errors(label, kind_named(kind->name));
}

/*
 * Waiters of a shared condvar were moved to their mutex. Later other threads
 * wait on the condvar with a mutex to which no thread can be moved: what a
 * moved thread does to its mutex must not be done to this one. By this fault a
 * PI mutex lost its holder, and the thread that wanted it slept for ever.
 */
static const struct {
	const char *kind;
	struct scene scene;
} others_after[] = {
	{ "normal",
	  { "waiters of a shared condvar are moved",
	    "wait 2; lock; broadcast_on; unlock; gone 2" } },
	{ "PI",
	  { "later waiters with a PI mutex return",
	    "wait 2; each 2 1 = 1; busy = 0" } },
	{ "robust",
	  { "later waiters with a robust mutex return",
	    "wait 2; each 2 1 = 1; busy = 0" } },
	{ "recursive",
	  { "later waiters with a recursive mutex return",
	    "wait 2; each 2 1 = 1; busy = 0" } },
	{ "recursive",
	  { "a later waiter with a mutex that it has locked twice returns",
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
