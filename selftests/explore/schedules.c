// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library under all schedules. lib/base, lib/mutex, lib/cond, lib/barrier
 * and lib/pool are not changed; threads, futexes, clocks and memory are made
 * here. The program explores the orders of the steps of a few threads, where a
 * step is an access to an atomic object or a system call. It also explores the
 * values that a load may find in weak memory, and the results that the kernel
 * may return.
 *
 *	schedules				all scenarios
 *	schedules signal/requeue		one of them, under one policy
 *	schedules bound=3 seconds=3600		more schedules of each
 *	schedules NAME/POLICY replay=LIST	a reported schedule, in words
 *
 * Each scenario is run under several values of DROVER_POLICY, each in a process
 * of its own: with all schedules of up to bound= deviations, then with random=
 * random schedules (choose.c), until seconds= (for all together) are over. All
 * schedules with one deviation are tried in any case. These are faults: an
 * expectation of the scenario that is not met, a deadlock, a schedule without
 * end, a data race, and the use of memory that was given back.
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"

#define MOST_JOBS 512

static struct job {
	const struct scenario *scenario;
	char policy[32];
	pid_t pid;
	FILE *output;
} jobs[MOST_JOBS];
static int nr_jobs;

static struct {
	unsigned int bound;
	unsigned long nr_random;
	double seconds;
	uint64_t seed;
	const char *replay;
	bool list;
	const char *only[16];
	int nr_only;
} options = { .bound = 2, .nr_random = ULONG_MAX, .seconds = 50, .seed = 1 };

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *is = strchr(arg, '=');

		if (strncmp(arg, "bound=", 6) == 0)
			options.bound = (unsigned int)atoi(is + 1);
		else if (strncmp(arg, "random=", 7) == 0)
			options.nr_random = strtoul(is + 1, NULL, 0);
		else if (strncmp(arg, "seconds=", 8) == 0)
			options.seconds = atof(is + 1);
		else if (strncmp(arg, "seed=", 5) == 0)
			options.seed = strtoull(is + 1, NULL, 0);
		else if (strncmp(arg, "replay=", 7) == 0)
			options.replay = is + 1;
		else if (strcmp(arg, "list") == 0)
			options.list = true;
		else if ((!is || strchr(arg, '/')) && options.nr_only < 16)
			options.only[options.nr_only++] = arg;
		else {
			fprintf(stderr, "%s: bad argument '%s'\n", argv[0],
				arg);
			exit(2);
		}
	}
}

/* "NAME" or "NAME/POLICY", where NAME may also be the beginning of names. */
static bool asked_for(const struct job *job)
{
	char title[100];

	snprintf(title, sizeof(title), "%s/%s", job->scenario->name,
		 job->policy);
	for (int i = 0; i < options.nr_only; i++)
		if (strncmp(title, options.only[i], strlen(options.only[i])) ==
		    0)
			return true;
	return !options.nr_only;
}

static void make_jobs(void)
{
	const struct scenario *s;

	for (int i = 0; (s = scenario_number(i)); i++) {
		const char *policies = s->policies;

		while (*policies && nr_jobs < MOST_JOBS) {
			struct job *job = &jobs[nr_jobs];
			int length = (int)strcspn(policies, " ");

			job->scenario = s;
			snprintf(job->policy, sizeof(job->policy), "%.*s",
				 length, policies);
			policies += length + (policies[length] == ' ');
			nr_jobs += asked_for(job);
		}
	}
}

static int at_once(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < nr_jobs ? cpus : nr_jobs;
}

/* The library reads the policy when a program begins, so run it again. */
static void run_again(const struct job *job, char **argv)
{
	char policy[40], seconds[40];
	const char *cpus = strstr(job->policy, ",1cpu");

	snprintf(policy, sizeof(policy), "%.*s",
		 (int)(cpus ? cpus - job->policy : (long)strlen(job->policy)),
		 job->policy);
	snprintf(seconds, sizeof(seconds), "%f",
		 options.seconds * at_once() / nr_jobs);
	setenv("DROVER_POLICY", policy, 1);
	setenv("EXPLORE_CPUS", cpus ? "1" : "4", 1);
	setenv("EXPLORE_ONE", job->scenario->name, 1);
	setenv("EXPLORE_SECONDS", seconds, 1);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static void start(struct job *job, char **argv)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	fflush(stdout);
	job->pid = fork();
	if (!job->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		run_again(job, argv);
	}
	close(ends[1]);
	job->output = fdopen(ends[0], "r");
}

static unsigned long all_searched, all_random, all_steps;

static bool finish(struct job *job, int number)
{
	unsigned long searched, random, steps;
	char line[400];
	int status;

	while (fgets(line, sizeof(line), job->output)) {
		fputs(line, stdout);
		if (sscanf(line, "# %lu searched, %lu random, %lu", &searched,
			   &random, &steps) == 3) {
			all_searched += searched;
			all_random += random;
			all_steps += steps;
		}
	}
	fclose(job->output);
	waitpid(job->pid, &status, 0);
	if (!WIFEXITED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	printf("%sok %d %s/%s\n", status ? "not " : "", number,
	       job->scenario->name, job->policy);
	return !status;
}

static int run_jobs(char **argv)
{
	bool fine = true;
	int started = 0;

	printf("TAP version 13\n1..%d\n", nr_jobs);
	for (int i = 0; i < nr_jobs; i++) {
		while (started < nr_jobs && started < i + at_once())
			start(&jobs[started++], argv);
		fine = finish(&jobs[i], i + 1) && fine;
	}
	printf("# in all %lu searched, %lu random, %lu steps\n", all_searched,
	       all_random, all_steps);
	return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *one = getenv("EXPLORE_ONE");

	const struct scenario *s;

	parse(argc, argv);
	for (int i = 0; one && (s = scenario_number(i)); i++)
		if (strcmp(s->name, one) == 0)
			return explore_one(s, options.bound, options.nr_random,
					   atof(getenv("EXPLORE_SECONDS")),
					   options.seed, options.replay);
	make_jobs();
	if (!nr_jobs) {
		fprintf(stderr, "no scenario is called so; try list\n");
		return 2;
	}
	if (options.list) {
		for (int i = 0; i < nr_jobs; i++)
			printf("%s/%s\n", jobs[i].scenario->name,
			       jobs[i].policy);
		return 0;
	}
	return run_jobs(argv);
}
