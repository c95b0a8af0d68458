// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool is shut down while threads submit to it: what was accepted runs or is
 * cancelled, what was not is refused, and nothing hangs. And a pool whose
 * threads the system refuses half-way leaves none behind.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "run.h"
#include "blocked.h"
#include "blocks.h"
#include "tap.h"

#define NR_SUBMITTERS 3
#define NR_TASKS      2000

static drover_pool_t *pool;
static atomic_int nr_run, nr_accepted, nr_cancelled, nr_wrong, nr_started;

struct job {
	drover_task_t task, child;
	bool has_child;
};

static int run(void *arg)
{
	(void)arg;
	atomic_fetch_add(&nr_run, 1);
	return 0;
}

/* Submits another one, which only a pool that drains accepts by now. */
static int run_parent(void *arg)
{
	struct job *job = arg;
	int err;

	atomic_fetch_add(&nr_run, 1);
	err = drover_pool_submit(pool, &job->child);
	if (err && err != ESHUTDOWN)
		atomic_fetch_add(&nr_wrong, 1);
	job->has_child = !err;
	atomic_fetch_add(&nr_accepted, !err);
	return 0;
}

static void *submit_all(void *arg)
{
	struct job *jobs = calloc(NR_TASKS, sizeof(*jobs));
	int nr = 0, err = 0;

	atomic_fetch_add(&nr_started, 1);
	for (; nr < NR_TASKS && !err; nr++) {
		drover_task_init(&jobs[nr].child, run, NULL);
		drover_task_init(&jobs[nr].task, nr % 3 ? run : run_parent,
				 &jobs[nr]);
		err = drover_pool_submit(pool, &jobs[nr].task);
	}
	if (err && err != ESHUTDOWN)
		atomic_fetch_add(&nr_wrong, 1);
	nr -= err != 0;
	atomic_fetch_add(&nr_accepted, nr);
	while (nr--) {
		err = drover_pool_wait(pool, &jobs[nr].task, NULL);
		if (!err && jobs[nr].has_child)
			err = drover_pool_wait(pool, &jobs[nr].child, NULL);
		if (err == ECANCELED)
			atomic_fetch_add(&nr_cancelled, 1);
		else if (err)
			atomic_fetch_add(&nr_wrong, 1);
	}
	free(jobs);
	return arg;
}

static void one_life(enum drover_pool_end how)
{
	pthread_t submitters[NR_SUBMITTERS];

	pool = pool_of(2);
	atomic_store(&nr_started, 0);
	for (int i = 0; i < NR_SUBMITTERS; i++)
		if (pthread_create(&submitters[i], NULL, submit_all, NULL))
			tap_bail("no thread");
	if (wait_at_least(&nr_started, NR_SUBMITTERS))
		tap_bail("threads do not begin");
	if (drover_pool_shutdown(pool, how))
		atomic_fetch_add(&nr_wrong, 1);
	for (int i = 0; i < NR_SUBMITTERS; i++)
		pthread_join(submitters[i], NULL);
	drover_pool_free(pool);
}

static void test_shutdown(enum drover_pool_end how, int nr_rounds)
{
	const char *name = how == DROVER_POOL_DRAIN ? "drain" : "cancel";

	watchdog(name);
	atomic_store(&nr_run, 0);
	atomic_store(&nr_accepted, 0);
	atomic_store(&nr_cancelled, 0);
	for (int i = 0; i < nr_rounds; i++)
		one_life(how);
	tap_is(nr_wrong, 0, "%s: no wrong answer", name);
	tap_is(nr_run + nr_cancelled, nr_accepted, "%s: nothing is lost", name);
	if (how == DROVER_POOL_DRAIN)
		tap_is(nr_cancelled, 0, "drain: nothing is cancelled");
}

/* ---- the system refuses threads ---- */

static int refuse_after = -1;

/* What the library calls: the program's comes before the C library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*begin)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *),
				void *))dlsym(RTLD_NEXT, "pthread_create");
	if (refuse_after >= 0 && refuse_after-- == 0)
		return EAGAIN;
	return real(thread, attr, begin, arg);
}

static int nr_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += entry->d_name[0] != '.';
	closedir(dir);
	return nr;
}

static void test_refused(void)
{
	drover_poolattr_t attr = { .workers = 4 };
	int before = nr_threads();
	drover_pool_t *none = NULL;
	int refused = 0;

	watchdog("refused threads");
	for (int i = 0; i < 4; i++) {
		refuse_after = i;
		refused += drover_pool_create(&none, &attr) == EAGAIN;
	}
	refuse_after = -1;
	tap_is(refused, 4, "a refused thread refuses the pool");
	tap_ok(!none, "no pool is stored");
	/* A joined thread may be in the list a moment longer. */
	while (nr_threads() > before)
		sched_yield();
	tap_is(nr_threads(), before, "no thread is left behind");
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "rounds");
	int nr_rounds = args_get(&args, "rounds", 6);

	tap_plan(3 + 2 + 3);
	test_shutdown(DROVER_POOL_DRAIN, nr_rounds);
	test_shutdown(DROVER_POOL_CANCEL, nr_rounds);
	test_refused();
	return tap_exit();
}
