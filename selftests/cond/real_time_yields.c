// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread of a real-time policy never yields, and does not keep the CPU from a
 * signaller of lower priority: a wait costs it less CPU time than a poll can
 * take.
 *
 * APIs: drover pthread
 */
#include "fixture.h"

#define NR_THREADS 4
#define NR_TURNS   500
#define NR_WAITS   200
/* A poll lasts at most 100 us; then there are the sleep and the mutex. */
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

/* As the kernel has it; not all C libraries do. */
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

static struct {
	const struct policy *policy;
	int turn; /* [mutex] */
	atomic_int err;
	int64_t cpu_ns; /* of the waiter */
} run;

/* A ring: each has a condvar, and signals the next one's. */
static api_cond_t turns[NR_THREADS];

static void *take_turns(void *arg)
{
	int own = (intptr_t)arg, err = become(run.policy);

	if (err)
		run.err = err;
	counts_yields = true;
	api_mutex_lock(&mutex);
	for (int i = 0; i < NR_TURNS; i++) {
		while (run.turn % NR_THREADS != own)
			api_cond_wait(&turns[own], &mutex);
		run.turn++;
		api_cond_signal(&turns[(own + 1) % NR_THREADS]);
	}
	api_mutex_unlock(&mutex);
	return NULL;
}

static void test_hand_offs(void)
{
	run.turn = 0;
	for (int i = 0; i < NR_THREADS; i++)
		api_cond_init(&turns[i]);
	nr_yields = 0;
	run_threads(NR_THREADS, take_turns);
	if (run.err)
		tap_skip(run.policy->name, strerror(run.err));
	else
		tap_is(nr_yields, 0, "%s: no yield in %d hand-offs",
		       run.policy->name, NR_THREADS * NR_TURNS);
}

static void *wait_for_turns(void *arg)
{
	int64_t begin;

	run.err = become(run.policy);
	begin = ns_of(CLOCK_THREAD_CPUTIME_ID);
	api_mutex_lock(&mutex);
	for (int i = 1; i <= NR_WAITS; i++)
		while (run.turn < i)
			api_cond_wait(&cond, &mutex);
	api_mutex_unlock(&mutex);
	run.cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - begin;
	return arg;
}

/* Both on one CPU, and the signaller runs when nobody else does. */
static void test_signaller_below(void)
{
	cpu_set_t before = to_one_cpu();
	pthread_t waiter;

	run.turn = 0;
	start_thread(&waiter, wait_for_turns, NULL);
	for (int i = 0; i < NR_WAITS; i++) {
		api_mutex_lock(&mutex);
		run.turn++;
		api_mutex_unlock(&mutex);
		api_cond_signal(&cond);
	}
	pthread_join(waiter, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	if (run.err)
		tap_skip(run.policy->name, strerror(run.err));
	else if (!tap_ok(run.cpu_ns < NR_WAITS * (int64_t)MOST_NS,
			 "%s: a wait costs no more than a poll",
			 run.policy->name))
		tap_diag("%ld ns each", (long)(run.cpu_ns / NR_WAITS));
}

int main(int argc, char **argv)
{
	api_start(argv);
	tap_plan(2 * NR_OF(policies_of_threads));
	for (int i = 0; i < NR_OF(policies_of_threads); i++) {
		run.policy = &policies_of_threads[i];
		watchdog(run.policy->name);
		run.err = 0;
		test_hand_offs();
		test_signaller_below();
	}
	return tap_exit();
}
