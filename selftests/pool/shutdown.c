// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool is shut down while threads submit to it: what was accepted runs or is
 * cancelled, what was not is refused, and nothing hangs.
 */
#include "tasks.h"

#define NR_SUBMITTERS 3
#define NR_TASKS      2000

static atomic_int nr_accepted, nr_cancelled, nr_wrong;

struct job {
	drover_task_t task, child;
	bool has_child;
};

static int is_shut(int err)
{
	nr_wrong += err && err != ESHUTDOWN;
	return err != 0;
}

/* Submits another one, which only a pool that drains accepts by now. */
static int run_parent(void *arg)
{
	struct job *job = arg;

	job->has_child = !is_shut(drover_pool_submit(pool, &job->child));
	nr_accepted += job->has_child;
	return count(NULL);
}

static void *submit_all(void *arg)
{
	struct job *jobs = calloc(NR_TASKS, sizeof(*jobs));
	int nr = 0, err = 0;

	nr_begun++;
	for (; nr < NR_TASKS; nr++) {
		drover_task_init(&jobs[nr].child, count, NULL);
		drover_task_init(&jobs[nr].task, nr % 3 ? count : run_parent,
				 &jobs[nr]);
		if (is_shut(drover_pool_submit(pool, &jobs[nr].task)))
			break;
	}
	nr_accepted += nr;
	while (nr--) {
		err = drover_pool_wait(pool, &jobs[nr].task, NULL);
		if (!err && jobs[nr].has_child)
			err = drover_pool_wait(pool, &jobs[nr].child, NULL);
		nr_cancelled += err == ECANCELED;
		nr_wrong += err && err != ECANCELED;
	}
	free(jobs);
	return arg;
}

static void test_shutdown(enum drover_pool_end how, int nr_rounds)
{
	const char *name = how == DROVER_POOL_DRAIN ? "drain" : "cancel";
	pthread_t submitters[NR_SUBMITTERS];
	int nr_done = 0;

	watchdog(name);
	nr_accepted = nr_cancelled = 0;
	for (int i = 0; i < nr_rounds; i++) {
		begin(2);
		for (int j = 0; j < NR_SUBMITTERS; j++)
			start_thread(&submitters[j], submit_all, NULL);
		reached(&nr_begun, NR_SUBMITTERS);
		nr_wrong += drover_pool_shutdown(pool, how) != 0;
		for (int j = 0; j < NR_SUBMITTERS; j++)
			joined(submitters[j]);
		drover_pool_free(pool);
		nr_done += nr_run;
	}
	tap_is(nr_wrong, 0, "%s: no wrong answer", name);
	tap_is(nr_done + nr_cancelled, nr_accepted, "%s: nothing is lost",
	       name);
	tap_ok(how == DROVER_POOL_CANCEL || !nr_cancelled,
	       "%s: what is drained is not cancelled", name);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 6);

	tap_plan(3 + 3);
	test_shutdown(DROVER_POOL_DRAIN, nr_rounds);
	test_shutdown(DROVER_POOL_CANCEL, nr_rounds);
	return tap_exit();
}
