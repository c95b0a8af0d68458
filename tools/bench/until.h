/* SPDX-License-Identifier: MIT */
/*
 * A wait until a predicate is true. Usually that is a loop; with @await it is
 * the wait with a predicate, which some implementations have. Both count how
 * often the wait returned while the predicate was false.
 */
#ifndef BENCH_UNTIL_H
#define BENCH_UNTIL_H

#include "bench.h"
#include "impl.h"

#define BENCH_AWAIT_OPTION                                                   \
	BENCH_FLAG_OPTION('a', "await", await,                               \
			  "wait with a predicate that others may evaluate, " \
			  "not in a loop",                                   \
			  .key = "await")

struct until {
	bool (*predicate)(void *arg);
	void *arg;
	uint64_t nr_false; /* only evaluations by the waiting thread itself */
};

/* The calling thread's wait. */
static _Thread_local struct until *until_own;

static bool until_evaluate(void *arg)
{
	struct until *until = arg;
	bool is_true = until->predicate(until->arg);

	if (!is_true && until_own == until)
		until->nr_false++;
	return is_true;
}

/* The caller holds the lock. Returns how often the wait returned in vain. */
static uint64_t until_true(struct impl_cond *cond, struct impl_mutex *lock,
			   bool await, bool (*predicate)(void *arg), void *arg)
{
	struct until until = { predicate, arg, 0 };

	until_own = &until;
	if (await)
		impl_cond_await(cond, lock, until_evaluate, &until);
	else
		while (!until_evaluate(&until))
			impl_cond_wait(cond, lock);
	until_own = NULL;
	return until.nr_false ? until.nr_false - 1 : 0;
}

/* False after a message: the implementation has no such wait. */
static bool until_possible(bool await)
{
	if (await && !impl_has_await())
		bench_error("-a: %s has no wait with a predicate", impl.name);
	return !await || impl_has_await();
}

#endif
