// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread of a real-time policy never yields, and does not keep the CPU from a
 * signaller of lower priority: a wait costs the thread less CPU time than the
 * longest poll.
 *
 * APIs: drover pthread
 */
#include "fixture.h"

#define NR_TURNS 500
/* A poll takes at most 100 us; the sleep and the mutex take time as well. */
#define MOST_NS (300 * 1000)

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;

static _Thread_local bool counts_yields;
static atomic_int nr_yields;

int sched_yield(void)
{
	if (counts_yields)
		nr_yields++;
	return syscall(SYS_sched_yield);
}

/* The kernel's struct sched_attr, which not all C libraries have. */
struct attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static const struct policy {
	const char *name;
	struct attr attr;
} policies_of_threads[] = {
	{ "SCHED_FIFO", { .policy = SCHED_FIFO, .priority = 1 } },
	{ "SCHED_RR", { .policy = SCHED_RR, .priority = 1 } },
	{ "SCHED_DEADLINE",
	  { .policy = SCHED_DEADLINE,
	    .runtime = 2 * NS_PER_MS,
	    .deadline = 10 * NS_PER_MS,
	    .period = 10 * NS_PER_MS } },
};

static int become(const struct policy *policy)
{
	struct attr attr = policy->attr;

	attr.size = sizeof(attr);
	return syscall(SYS_sched_setattr, 0, &attr, 0) ? errno : 0;
}

/* Two threads that take turns. */
static struct {
	const struct policy *policy;
	bool below; /* the second is no real-time thread; both have one CPU */
	int turn;   /* [mutex] */
	atomic_int err;
	int64_t cpu_ns; /* of the first thread */
} run;

static void *take_turns(void *arg)
{
	int own = (intptr_t)arg, err;
	int64_t begin;

	counts_yields = !own || !run.below;
	err = counts_yields ? become(run.policy) : 0;
	if (err)
		run.err = err;
	begin = ns_of(CLOCK_THREAD_CPUTIME_ID);
	api_mutex_lock(&mutex);
	for (int i = 0; i < NR_TURNS; i++) {
		while (run.turn % 2 != own)
			api_cond_wait(&cond, &mutex);
		run.turn++;
		api_cond_signal(&cond);
	}
	api_mutex_unlock(&mutex);
	if (!own)
		run.cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - begin;
	return NULL;
}

static void test(const struct policy *policy, bool below)
{
	cpu_set_t before = own_cpus();

	watchdog(policy->name);
	run.policy = policy;
	run.below = below;
	run.turn = run.err = nr_yields = 0;
	if (below)
		to_one_cpu();
	run_threads(2, take_turns);
	sched_setaffinity(0, sizeof(before), &before);
	if (run.err)
		tap_skip(policy->name, strerror(run.err));
	else if (!below)
		tap_is(nr_yields, 0, "%s: no yield in %d hand-offs",
		       policy->name, 2 * NR_TURNS);
	else if (!tap_ok(run.cpu_ns < NR_TURNS * (int64_t)MOST_NS,
			 "%s: a wait costs no more than a poll", policy->name))
		tap_diag("a wait costs %ld ns", (long)(run.cpu_ns / NR_TURNS));
}

int main(int argc, char **argv)
{
	api_start(argv);
	tap_plan(2 * NR_OF(policies_of_threads));
	for (int i = 0; i < NR_OF(policies_of_threads); i++) {
		test(&policies_of_threads[i], false);
		test(&policies_of_threads[i], true);
	}
	return tap_exit();
}
