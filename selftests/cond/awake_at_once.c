// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of threads that a broadcast has moved to the mutex, as many are awake at once
 * as the policy says, and who is awake looks at a held mutex before it sleeps.
 * Both are forced here. A thread that was moved and never woken still shows the
 * system call that it began to wait with; one that went to sleep on the mutex
 * by itself shows the mutex.
 */
#include "args.h"
#include "crew.h"
#include "policy.h"

#define NR_WAITERS 8

/* A look that does not end by itself, and none. */
#define LOOK	"60000000"
#define NO_LOOK "0"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* All of @crew were moved, and the first to return keeps the mutex. */
static void begin(struct crew *crew)
{
	crew_add(crew, NR_WAITERS);
	atomic_store(&crew->keep, true);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	crew_returned(crew, 1);
}

/* Who else was awake goes to sleep on the mutex. */
static void test_awake(const char *policy, int nr_awake)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);

	begin(&crew);
	tap_is(crew_count(&crew, AT_MUTEX), nr_awake - 1,
	       "%s: others were awake and sleep on the mutex", policy);
	crew_end(&crew);
}

/* Who has the mutex keeps it until all of its number may go. */
static atomic_int nr_in, nr_may_go;

static void stay(struct member *member)
{
	int number = atomic_fetch_add(&nr_in, 1);

	(void)member;
	while (atomic_load(&nr_may_go) <= number)
		sched_yield();
}

static int count_awake(struct crew *crew)
{
	int nr = 0;

	for (int i = 0; i < crew->nr; i++)
		nr += member_place(&crew->members[i]) == AWAKE;
	return nr;
}

/* Is it @nr_awake that are awake, and one of them has the mutex? */
static bool come_to(struct crew *crew, int nr, int nr_awake)
{
	int64_t deadline = blocked_deadline();

	while (atomic_load(&nr_in) < nr || count_awake(crew) != nr_awake) {
		if (blocked_over(deadline))
			return false;
		sched_yield();
	}
	return true;
}

/*
 * Whoever is awake stays so until it gets the mutex, which it then leaves to
 * the next that sleeps there.
 */
static void test_look(const char *policy, int nr_awake)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);
	int left = NR_WAITERS;

	atomic_store(&nr_in, 0);
	atomic_store(&nr_may_go, 0);
	for (int i = 0; i < NR_WAITERS; i++)
		crew_start(&crew, &(struct member){ .then = stay });
	for (int i = 0; i < NR_WAITERS; i++)
		member_asleep(&crew.members[i]);
	api_mutex_lock(&mutex);
	api_cond_broadcast(&cond);
	api_mutex_unlock(&mutex);
	while (left && come_to(&crew, NR_WAITERS - left + 1,
			       nr_awake < left ? nr_awake : left)) {
		left--;
		atomic_fetch_add(&nr_may_go, 1);
	}
	tap_is(left, 0, "%s: all get the mutex, awake before it is free",
	       policy);
	atomic_store(&nr_may_go, NR_WAITERS);
	crew_end(&crew);
}

static void test(const char *policy)
{
	int nr_awake = 1;

	if (!policy_moves(policy)) {
		tap_skip("%s: without requeue all are awake", policy);
		return;
	}
	if (strstr(policy, "short"))
		nr_awake = atoi(strstr(policy, "awake=") + strlen("awake="));
	if (strstr(policy, "look=" LOOK))
		test_look(policy, nr_awake);
	else
		test_awake(policy, nr_awake);
}

static const char *const names[] = {
	"auto,short,awake=1,look=" NO_LOOK, "auto,short,awake=4,look=" NO_LOOK,
	"auto,long,awake=4,look=" NO_LOOK,  "auto,short,awake=1,look=" LOOK,
	"auto,short,awake=3,look=" LOOK,
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, sizeof(names) / sizeof(*names) };

	args_parse(argc, argv, "");
	api_start(argv);
	return policies_main(argv, list, 1, test);
}
