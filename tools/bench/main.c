// SPDX-License-Identifier: MIT
/*
 * main() of every benchmark program. A program has the suites that it is linked
 * with, each compiled once for each implementation, and the options that all
 * suites have. A program with several suites takes the name of one as its first
 * argument.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define DEFAULT_IMPL	 "pthread"
#define DEFAULT_STACK	 32768
#define DEFAULT_WATCHDOG 120

extern const struct bench_suite *const __start_bench_suites[];
extern const struct bench_suite *const __stop_bench_suites[];

#define for_each_suite(suite)                                               \
	for (const struct bench_suite *const *suite = __start_bench_suites; \
	     suite < __stop_bench_suites; suite++)

static void say(const char *format, va_list args)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	putc('\n', stderr);
}

void bench_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void bench_wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	/* Not exit(): other threads may be stuck, or still running. */
	_exit(BENCH_WRONG);
}

void bench_call_failed(const char *call, int error)
{
	bench_error("%s: %s", call, strerror(error));
	_exit(BENCH_FAILED);
}

/* ---- which suite, for which implementation ---- */

/* Has the linker put several suites into this program? */
static bool has_many(void)
{
	for_each_suite(
		suite) if (strcmp((*suite)->name,
				  __start_bench_suites[0]->name)) return true;
	return false;
}

/* @impl NULL: the default implementation, or any if that is missing. */
static const struct bench_suite *find(const char *name, const char *impl)
{
	const struct bench_suite *any = NULL;

	for_each_suite(suite)
	{
		if (strcmp((*suite)->name, name))
			continue;
		if (!strcmp((*suite)->impl->name, impl ?: DEFAULT_IMPL))
			return *suite;
		any = *suite;
	}
	return impl ? NULL : any;
}

static const struct bench_suite *suite_for(const char *name, const char *impl)
{
	const struct bench_suite *suite = find(name, impl);

	if (!suite)
		bench_error("--impl: '%s' is not known", impl);
	return suite;
}

static void print_exit_statuses(FILE *out)
{
	fprintf(out,
		"\nExit status: %d done, %d not possible here (the message says why),\n%d wrong usage, %d a wakeup was lost or came from nowhere.\n",
		BENCH_OK, BENCH_FAILED, BENCH_USAGE, BENCH_WRONG);
}

static void print_usage(FILE *out, const struct bench_suite *suite)
{
	const struct bench_option *option = suite->options;

	fputs("usage: ", out);
	if (has_many())
		fprintf(out, "%s ", program_invocation_short_name);
	fputs(suite->name, out);
	for (; option->letter; option++)
		fprintf(out, option->required ? " -%c%s%s" : " [-%c%s%s]",
			option->letter, option->metavar ? " " : "",
			option->metavar ?: "");
	fprintf(out, " [option]...\n%s\n\n", suite->summary);
	bench_print_options(out, suite->options);
	bench_print_options(out, bench_common_options);
	fputs("\nIMPL:\n", out);
	for_each_suite(other) if (!strcmp((*other)->name, suite->name))
		fprintf(out, "  %-10s %s\n", (*other)->impl->name,
			(*other)->impl->help);
	print_exit_statuses(out);
}

static void print_suites(FILE *out)
{
	fprintf(out,
		"usage: %s SUITE [option]...\n       %s SUITE --help\n\nSUITE:\n",
		program_invocation_short_name, program_invocation_short_name);
	for_each_suite(suite) if (*suite == find((*suite)->name, NULL))
		fprintf(out, "  %-14s %s\n", (*suite)->name, (*suite)->summary);
	print_exit_statuses(out);
}

/*
 * Return: the suite that the command line names. Its name is then removed from
 * the command line. A program with one suite takes no name. If there is no
 * suite to run, NULL, and @status is the exit status.
 */
static const struct bench_suite *choose(int *argc, char ***argv,
					enum bench_exit *status)
{
	const struct bench_suite *suite;
	const char *name;

	if (!has_many())
		return find(__start_bench_suites[0]->name, NULL);
	name = *argc > 1 ? (*argv)[1] : "";
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_suites(stdout);
		*status = BENCH_OK;
		return NULL;
	}
	suite = find(name, NULL);
	if (!suite) {
		bench_error("'%s' is no suite", name);
		print_suites(stderr);
		*status = BENCH_USAGE;
		return NULL;
	}
	--*argc;
	++*argv;
	return suite;
}

/* ---- what is printed after a run ---- */

static double seconds(const struct bench_run *run)
{
	return run->end.wall - run->begin.wall;
}

static double cpu_seconds(const struct bench_run *run)
{
	return run->end.cpu - run->begin.cpu;
}

static uint64_t voluntary(const struct bench_run *run)
{
	return run->end.voluntary - run->begin.voluntary;
}

static uint64_t involuntary(const struct bench_run *run)
{
	return run->end.involuntary - run->begin.involuntary;
}

static double switches_per_operation(const struct bench_run *run)
{
	return (double)(voluntary(run) + involuntary(run)) / run->operations;
}

static double ns_per_operation(const struct bench_run *run)
{
	return run->ns_per_operation ?: seconds(run) * 1e9 / run->operations;
}

static void print_json(const struct bench_suite *suite,
		       const struct bench_run *run, const void *args)
{
	struct bench_json json;

	bench_json_open(&json, stdout);
	bench_json_string(&json, "bench", suite->name);
	bench_json_string(&json, "impl", suite->impl->name);
	bench_json_string(&json, "library", suite->impl->library());
	bench_json_string(&json, "version", suite->impl->version());
	bench_json_string(&json, "kernel", bench_kernel());
	bench_json_count(&json, "cpus", bench_cpus());
	bench_json_count(&json, "stack", run->common->stack);
	bench_json_options(&json, suite->options, args);
	if (suite->json)
		suite->json(&json, run, args);
	bench_json_real(&json, "seconds", seconds(run));
	bench_json_real(&json, "cpu_seconds", cpu_seconds(run));
	bench_json_count(&json, "voluntary_switches", voluntary(run));
	bench_json_count(&json, "involuntary_switches", involuntary(run));
	bench_json_count(&json, "operations", run->operations);
	bench_json_real(&json, suite->switches_key,
			switches_per_operation(run));
	bench_json_real(&json, "ns_per_operation", ns_per_operation(run));
	bench_json_count(&json, "spurious", run->spurious);
	bench_json_count(&json, "futile", run->futile);
	if (run->latency)
		bench_latency_json(&json, run->latency);
	if (run->common->perf)
		bench_perf_json(&json);
	bench_json_close(&json);
}

static void print_latency(FILE *out, const struct bench_latency *latency)
{
	fprintf(out,
		"  ns: 50%% within %" PRIu64 ", 90%% %" PRIu64 ", 99%% %" PRIu64
		", 99.9%% %" PRIu64 ", all %" PRIu64 "\n",
		bench_latency_quantile(latency, 0.5),
		bench_latency_quantile(latency, 0.9),
		bench_latency_quantile(latency, 0.99),
		bench_latency_quantile(latency, 0.999), latency->max);
}

static void print_text(const struct bench_suite *suite,
		       const struct bench_run *run, const void *args)
{
	suite->print(stdout, run, args);
	printf(" in %.3f s\n", seconds(run));
	if (run->latency)
		print_latency(stdout, run->latency);
	if (run->common->perf)
		bench_perf_print(stdout, run->operations);
	if (!run->common->verbose)
		return;
	printf("  %s: %s (%s), %s, CPUs: %u\n", suite->impl->name,
	       suite->impl->library(), suite->impl->version(), bench_kernel(),
	       bench_cpus());
	printf("  %.3f s of CPU time, %" PRIu64 " voluntary and %" PRIu64
	       " involuntary switches, %.3f for each %s\n",
	       cpu_seconds(run), voluntary(run), involuntary(run),
	       switches_per_operation(run), suite->operation);
}

static enum bench_exit run_suite(const struct bench_suite *suite,
				 const struct bench_common *common,
				 const void *args)
{
	struct bench_run run = { .common = common };
	enum bench_exit status;

	bench_work_set_cost(common->cost);
	if (common->perf)
		bench_perf_open();
	status = suite->run(&run, args);
	if (status != BENCH_OK)
		return status;
	if (common->json)
		print_json(suite, &run, args);
	else
		print_text(suite, &run, args);
	if (fflush(stdout) || ferror(stdout)) {
		bench_error("writing to stdout: %s", strerror(errno));
		return BENCH_FAILED;
	}
	return BENCH_OK;
}

/* Run what the command line asks for; @suite is of any implementation. */
static enum bench_exit run_command(const struct bench_suite *suite, int argc,
				   char **argv)
{
	struct bench_common common = {
		.stack = DEFAULT_STACK,
		.watchdog = DEFAULT_WATCHDOG,
	};
	const struct bench_suite *chosen = NULL;
	enum bench_exit status = BENCH_USAGE;
	void *args = bench_alloc(1, suite->args_size);

	if (!args)
		return BENCH_FAILED;
	/* All implementations of a suite have the same options. */
	if (bench_parse(argc, argv, suite->options, args, &common))
		chosen = suite_for(suite->name, common.impl);

	if (!chosen) {
		print_usage(stderr, suite);
	} else if (common.help) {
		print_usage(stdout, suite);
		status = BENCH_OK;
	} else {
		status = run_suite(chosen, &common, args);
	}
	free(args);
	return status;
}

int main(int argc, char **argv)
{
	enum bench_exit status = BENCH_USAGE;
	const struct bench_suite *suite = choose(&argc, &argv, &status);

	return suite ? run_command(suite, argc, argv) : status;
}
