// SPDX-License-Identifier: MIT
/*
 * drover: the command, of which this file has all that is not written in
 * Python. Documentation/man/drover.1 describes it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/cond/policy.h"
#include "drover.h"

static const char help[] =
	"usage: drover run [-p POLICY] PROGRAM [ARGUMENT]...\n"
	"       drover compare [-n RUNS] [-m MINUTES] [--json FILE]\n"
	"                      [--] PROGRAM [ARGUMENT]...\n"
	"       drover stat [-s] [--json FILE] [--] PROGRAM [ARGUMENT]...\n"
	"       drover top [-d SECONDS] [-n TIMES] PID\n"
	"       drover why [-x | -d SECONDS] [--json | --dot] PID\n"
	"       drover why [-t SECONDS] -- PROGRAM [ARGUMENT]...\n"
	"       drover why --core FILE\n"
	"       drover bench NAME [OPTION]...\n"
	"       drover info\n"
	"\n"
	"run      start PROGRAM with Drover's condition variables in place of the\n"
	"         C library's; the exit status is PROGRAM's\n"
	"           -p, --policy=POLICY   what a broadcast does: auto (default),\n"
	"                                 requeue or wake-all; see drover(7)\n"
	"compare  run PROGRAM without and with Drover by turns, and say how much\n"
	"         faster or slower Drover makes it\n"
	"           -n, --runs=RUNS       make at most so many pairs of runs (32)\n"
	"           -m, --minutes=MINUTES begin no run after so long (5)\n"
	"           --json=FILE           write all runs and the verdict to FILE\n"
	"stat     run PROGRAM, and show how it used its condition variables\n"
	"           -s, --stock           use the C library's instead of Drover's\n"
	"           --json=FILE           write the counts to FILE\n"
	"top      show what a program under `drover stat` does now, each second\n"
	"           -d, --delay=SECONDS   print so often (1)\n"
	"           -n, --times=TIMES     print so many times\n"
	"why      say which thread waits for which, and what went wrong: in a\n"
	"         running process, in a program that is started here and that\n"
	"         Ctrl-C interrupts, or in a core file\n"
	"           -x, --exact           stop the threads during the look\n"
	"           -d, --delay=SECONDS   look twice, and show which threads moved\n"
	"           -t, --time=SECONDS    look at PROGRAM after so long\n"
	"           --json, --dot         print JSON, or the graph for Graphviz\n"
	"bench    run a benchmark: cond-perf, pp, barrier-perf, pool-perf,\n"
	"         stream-perf, or drover-bench, which has more\n"
	"info     show what the C library, the drop-in and the kernel can do here\n";

static int usage(const char *format, ...)
{
	va_list words;

	fputs("drover: ", stderr);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputs("; see drover --help\n", stderr);
	return EXIT_USAGE;
}

/* The folder of this program, or an empty string if there is no /proc. */
static void own_folder(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[length < 0 ? 0 : length] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

int drop_in_path(char *path, size_t size)
{
	char self[PATH_MAX];
	int length;

	own_folder(self, sizeof(self));
	length = snprintf(path, size, "%s/../lib/" DROP_IN, self);
	if (*self && length < (int)size && realpath(path, self)) {
		snprintf(path, size, "%s", self);
		return access(path, R_OK);
	}
	length = snprintf(path, size, LIBDIR "/" DROP_IN);
	return length < (int)size ? access(path, R_OK) : -1;
}

int drop_in_preload(const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;
	int err;

	/* In LD_PRELOAD a space or a colon ends a name. */
	if (strpbrk(path, " :"))
		return -1;
	if (asprintf(&all, "%s%s%s", path, others && *others ? ":" : "",
		     others ? others : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", all, 1);
	free(all);
	return err;
}

static int run(int argc, char **argv)
{
	static const char *const what_of[] = {
		[LINKER_NONE] =
			"is linked statically: it runs with its own condition variables",
		[LINKER_FOREIGN] = "is a program for another machine",
		[LINKER_PRIVILEGED] =
			"gains privileges (setuid, setgid or capabilities): it runs with the C library's condition variables",
		[LINKER_MUSL] =
			"uses musl, and the drop-in takes the place only of glibc's functions",
	};
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' }, { 0 }
	};
	const char *policy = NULL;
	char path[PATH_MAX];
	enum linker linker;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+p:", options, NULL)) != -1) {
		if (option != 'p')
			return usage(
				"run: an option is unknown, or --policy has no policy");
		policy = optarg;
	}
	if (optind == argc)
		return usage("run: name a program");
	linker = linker_of(argv[optind]);
	if (linker != LINKER_OTHER)
		fprintf(stderr, "drover: %s %s\n", argv[optind],
			what_of[linker]);
	if (linker == LINKER_MUSL || linker == LINKER_FOREIGN)
		return EXIT_CANNOT_RUN;
	if (policy && !policy_parse(policy, &(struct policy){ 0 }))
		return usage("%s is not a policy: use " POLICY_HELP, policy);
	if (drop_in_path(path, sizeof(path))) {
		fprintf(stderr, "drover: %s is missing: build or install it\n",
			path);
		return EXIT_CANNOT_RUN;
	}
	if (drop_in_preload(path) ||
	    (policy && setenv("DROVER_POLICY", policy, 1))) {
		fprintf(stderr,
			"drover: %s cannot be preloaded: its path has a space or a colon, or there is no memory\n",
			path);
		return EXIT_CANNOT_RUN;
	}
	execvp(argv[optind], &argv[optind]);
	fprintf(stderr, "drover: %s: %s\n", argv[optind], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

int script(char **argv)
{
	char path[PATH_MAX], *program = NULL, *library = NULL, **words;
	sigset_t interrupt;
	int nr = 0;

	if (drop_in_path(path, sizeof(path)) || strpbrk(path, " :")) {
		fprintf(stderr,
			"drover: %s is missing, or its path has a space or a colon: build or install it elsewhere\n",
			path);
		return EXIT_CANNOT_RUN;
	}
	while (argv[nr])
		nr++;
	words = calloc(nr + 5, sizeof(*words));
	if (!words || asprintf(&library, "--drop-in=%s", path) < 0 ||
	    asprintf(&program, "%.*s/drover", (int)(strrchr(path, '/') - path),
		     path) < 0)
		return EXIT_CANNOT_RUN;
	words[0] = "python3";
	words[1] = "-EsB";
	words[2] = program;
	words[3] = argv[0];
	words[4] = library;
	/* Ctrl-C while Python starts waits until it calls interruptible(). */
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	memcpy(&words[5], &argv[1], (nr - 1) * sizeof(*words));
	execv("/usr/bin/python3", words);
	execvp(words[0], words);
	fprintf(stderr, "drover: python3: %s: install python3\n",
		strerror(errno));
	return EXIT_CANNOT_RUN;
}

/* Become a benchmark, which lies beside this program or beside the scripts. */
static int bench(char **argv)
{
	char path[2 * PATH_MAX], folder[PATH_MAX];

	if (!argv[0] || strchr(argv[0], '/'))
		return usage("bench: name a benchmark");
	own_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, argv[0]);
	execv(path, argv);
	if (drop_in_path(folder, sizeof(folder)) == 0) {
		*strrchr(folder, '/') = '\0';
		snprintf(path, sizeof(path), "%s/drover/%s", folder, argv[0]);
		execv(path, argv);
	}
	return usage("bench: %s: %s", argv[0], strerror(errno));
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "run"))
		return run(argc - 1, argv + 1);
	if (!strcmp(command, "compare") || !strcmp(command, "stat") ||
	    !strcmp(command, "top") || !strcmp(command, "why"))
		return script(argv + 1);
	if (!strcmp(command, "bench"))
		return bench(argv + 2);
	if (!strcmp(command, "info") && argc == 2)
		return info();
	if (!strcmp(command, "info") && argc == 3 &&
	    !strcmp(argv[2], "--drop-in"))
		return info_drop_in();
	if (!strcmp(command, "-h") || !strcmp(command, "--help")) {
		fputs(help, stdout);
		return 0;
	}
	return usage(
		*command ?
			"%s is not a command: use run, compare, stat, top, why, bench or info" :
			"name a command: run, compare, stat, top, why, bench or info",
		command);
}
