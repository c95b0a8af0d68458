// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors of the mutex that come out of a wait: EPERM when the caller does not
 * hold it, EOWNERDEAD and ENOTRECOVERABLE when its holder has died. None loses
 * a waiter.
 */
#include "../cond/steps.h"

/* The main thread waits without the mutex. */
STEP_IS(wait_not_held, pthread_cond_wait(&cond, &mutex));

STEP(timed_wait_not_held)
{
	struct timespec past = deadline_in(CLOCK_REALTIME, -1);

	return pthread_cond_timedwait(&cond, &mutex, &past);
}

/* The holder signals or broadcasts, and ends without unlocking. */
static void *die_as_holder(void *wake)
{
	pthread_mutex_lock(&mutex);
	((int (*)(pthread_cond_t *))wake)(&cond);
	return NULL;
}

static long run_to_its_end(int (*wake)(pthread_cond_t *))
{
	return joined(thread_of(die_as_holder, (void *)wake)) != NULL;
}

STEP_IS(die_after_signal, run_to_its_end(pthread_cond_signal));
STEP_IS(die_after_broadcast, run_to_its_end(pthread_cond_broadcast));

static void repair(struct member *member)
{
	if (member->result == EOWNERDEAD)
		pthread_mutex_consistent(&mutex);
}

STEP_DO(wait_and_repair,
	scene_add(1, &(struct member){ .then = repair }, true));

static const struct scene not_held = {
	"not held: EPERM, and no waiter is lost",
	"wait 3; wait_not_held = EPERM; timed_wait_not_held = EPERM;"
	"waiting = 3; signal; gone 1; wait_not_held = EPERM; broadcast; gone 3;"
	"zeros = 3",
};

/*
 * The unlock without making it consistent spoils the mutex. Two waiters: of
 * three, glibc's own lock of a spoilt mutex may leave the last one asleep.
 */
static const struct scene robust[] = {
	{ "the holder died after a signal, repaired: as before",
	  "wait_and_repair; die_after_signal; gone 1; result 0 = EOWNERDEAD;"
	  "wait; lock; signal; unlock; gone 2; result 1 = 0" },
	{ "the holder died, given up: EOWNERDEAD and ENOTRECOVERABLE",
	  "wait 2; die_after_broadcast; gone 2; results EOWNERDEAD = 1;"
	  "results ENOTRECOVERABLE = 1" },
};

static const struct mutex_kind kinds[] = {
	{ "errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, 0 },
	{ "recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0 },
	{ "PI, errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, 0 },
	{ "robust", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST },
	{ "robust PI", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT,
	  PTHREAD_MUTEX_ROBUST },
};

static void test(const char *policy)
{
	void *list;
	size_t size;
	/* Not in an emulator's processes. */
	bool has_lists = !syscall(SYS_get_robust_list, 0, &list, &size);

	scene_start(policy, "normal", false);
	for (int i = 0; i < NR_OF(kinds); i++) {
		char label[64];

		snprintf(label, sizeof(label), "%s: %s", policy, kinds[i].name);
		kind_mutex_init(&mutex, &kinds[i], false);
		scenes_test(label, &not_held, 1);
		if (kinds[i].robust && has_lists)
			scenes_test(label, robust, 2);
		else if (kinds[i].robust)
			tap_skip_all(2, label, "no robust lists here");
	}
}

POLICY_MAIN(test)
