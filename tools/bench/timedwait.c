// SPDX-License-Identifier: MIT
/*
 * timedwait - the cost of a deadline.
 *
 * Threads take turns as in turn-ring, but every wait has a deadline that is
 * never reached. With -e no thread signals, and every wait has a deadline that
 * has passed.
 */
#include "ring.h"

struct args {
	uint64_t threads, waits;
	bool expired;
};

struct crowd {
	const struct args *args;
	struct gate gate;
	struct impl_mutex lock;
	struct impl_cond never; /* with lock: no thread ever signals it */
	/* Written under lock; the watchdog peeks. */
	_Atomic uint64_t timeouts;
};

static void *late_main(void *arg)
{
	struct crowd *crowd = arg;
	struct timespec past = { .tv_sec = 1 };
	uint64_t early = 0;

	if (gate_enter(&crowd->gate)) {
		impl_mutex_lock(&crowd->lock);
		for (uint64_t i = 0; i < crowd->args->waits;) {
			if (impl_cond_timedwait(&crowd->never, &crowd->lock,
						&past)) {
				count_up(&crowd->timeouts);
				i++;
			} else {
				early++;
			}
		}
		impl_mutex_unlock(&crowd->lock);
	}
	gate_leave(&crowd->gate, early);
	return NULL;
}

static uint64_t progress(void *arg)
{
	struct crowd *crowd = arg;

	return get(&crowd->timeouts);
}

static void explain(void *arg)
{
	struct crowd *crowd = arg;

	bench_error("%" PRIu64 " of %" PRIu64 " waits timed out",
		    get(&crowd->timeouts),
		    crowd->args->threads * crowd->args->waits);
}

static enum bench_exit run_expired(struct bench_run *run,
				   const struct args *args)
{
	struct crowd crowd = { .args = args };
	struct bench_watch watch = { progress, explain, &crowd };
	enum bench_exit status;

	gate_init(&crowd.gate, args->threads);
	impl_mutex_init(&crowd.lock);
	impl_cond_init(&crowd.never);
	status = gate_run(run, &crowd.gate, &watch, late_main, &crowd, 0);
	impl_cond_destroy(&crowd.never);
	impl_mutex_destroy(&crowd.lock);
	gate_destroy(&crowd.gate);
	run->operations = get(&crowd.timeouts);
	return status;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct ring ring = {
		.threads = a->threads,
		.turns = a->waits,
		.timed = true,
	};

	return a->expired ? run_expired(run, a) : ring_run(run, &ring);
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " waits of %" PRIu64 " threads, %s", a->waits,
		a->threads, a->expired ? "too late" : "in time");
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "threads that wait"),
	BENCH_REQUIRED_OPTION('i', waits, 1, 1000000000, "WAITS",
			      "waits of each"),
	BENCH_FLAG_OPTION('e', "expired", expired,
			  "with a deadline that has passed", .key = "expired"),
	{ 0 }
};

BENCH_SUITE(.name = "timedwait",
	    .summary = "Wait with a deadline: far away, or with -e in the past.",
	    .operation = "wait", .switches_key = "switches_per_wait");
