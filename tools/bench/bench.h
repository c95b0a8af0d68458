/* SPDX-License-Identifier: MIT */
/*
 * The harness every benchmark of this folder is built on.
 *
 * A suite is one file. It is compiled once for each implementation that it
 * measures (see impl.h), so that the measured code calls its mutex and its
 * condition variable directly, and registers itself with BENCH_SUITE(). The
 * harness parses the options, runs the suite and prints what it found.
 */
#ifndef BENCH_H
#define BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bench_json;

/* Exit statuses of every benchmark program. */
enum bench_exit {
	BENCH_OK = 0,
	BENCH_FAILED = 1, /* no threads, no memory, an unexpected error */
	BENCH_USAGE = 2,  /* the command line is wrong */
	BENCH_WRONG = 3,  /* a wakeup was lost or came from nowhere */
};

/* ---- options (options.c) ---- */

enum bench_kind {
	BENCH_FLAG,  /* bool: true when the option is given */
	BENCH_COUNT, /* uint64_t in [min, max] */
	BENCH_WORD,  /* const char * */
};

/*
 * One option. Its value is stored @offset bytes into the structure that the
 * table belongs to. A table ends with an entry whose letter is 0.
 */
struct bench_option {
	char letter;
	const char *name; /* the long form */
	enum bench_kind kind;
	bool required;
	size_t offset;
	uint64_t min, max;
	const char *metavar;
	const char *help;
	bool operand; /* may be given without its letter, in the table's order */
	uint64_t preset; /* a count that is not given */
	const char *key; /* JSON: the member that the value is; NULL: none */
};

/* Entries of a table whose values are members of struct @of. */
#define BENCH_COUNT_OF(of, l, n, field, least, most, meta, text, ...)         \
	{                                                                     \
		.letter = (l), .name = (n), .kind = BENCH_COUNT,              \
		.offset = offsetof(struct of, field), .min = (least),         \
		.max = (most), .metavar = (meta), .help = (text), __VA_ARGS__ \
	}
#define BENCH_FLAG_OF(of, l, n, field, text, ...)                     \
	{                                                             \
		.letter = (l), .name = (n), .kind = BENCH_FLAG,       \
		.offset = offsetof(struct of, field), .help = (text), \
		__VA_ARGS__                                           \
	}
#define BENCH_WORD_OF(of, l, n, field, meta, text)                       \
	{                                                                \
		.letter = (l), .name = (n), .kind = BENCH_WORD,          \
		.offset = offsetof(struct of, field), .metavar = (meta), \
		.help = (text)                                           \
	}

/* Of a suite's own table, whose values are members of its struct args. */
#define BENCH_COUNT_OPTION(...) BENCH_COUNT_OF(args, __VA_ARGS__)
#define BENCH_FLAG_OPTION(...)	BENCH_FLAG_OF(args, __VA_ARGS__)
#define BENCH_WORD_OPTION(...)	BENCH_WORD_OF(args, __VA_ARGS__)

/* A count that must be given: one word is its member, option and JSON key. */
#define BENCH_REQUIRED_OPTION(l, field, least, most, meta, text)      \
	BENCH_COUNT_OPTION(l, #field, field, least, most, meta, text, \
			   .required = true, .key = #field)

/* A count that is @value unless it is given, and says so. */
#define BENCH_PRESET_OPTION(l, n, field, least, most, meta, value, text, ...) \
	BENCH_COUNT_OPTION(l, n, field, least, most, meta,                    \
			   text " (default " #value ")", .preset = (value),   \
			   __VA_ARGS__)

/* What several suites have in common. */
#define BENCH_THREADS_OPTION(least, text) \
	BENCH_REQUIRED_OPTION('n', threads, least, 1000000, "THREADS", text)
#define BENCH_ROUNDS_OPTION(text) \
	BENCH_REQUIRED_OPTION('r', rounds, 1, 1000000000, "ROUNDS", text)
#define BENCH_KEEP_OPTION                                               \
	BENCH_FLAG_OPTION('k', "keep", keep,                            \
			  "keep the mutex locked during the broadcast", \
			  .key = "keep")
#define BENCH_LATENCY_OPTION                                                \
	BENCH_FLAG_OPTION('L', "latency", latency,                          \
			  "measure each operation too: two clock readings " \
			  "more for each")

/* Options that every suite has. */
struct bench_common {
	const char *impl;  /* NULL: the program's first choice */
	uint64_t stack;	   /* bytes, for each thread */
	uint64_t watchdog; /* seconds, 0: off */
	uint64_t cost;	   /* of a round of work, ps; 0: to be measured */
	bool perf, json, verbose, help;
};

extern const struct bench_option bench_common_options[];

/**
 * bench_parse() - Read the command line into @common and @args.
 * @suite_options: The suite's own table, whose values go to @args.
 *
 * Return: true, or false after a line on stderr says what is wrong.
 */
bool bench_parse(int argc, char **argv,
		 const struct bench_option *suite_options, void *args,
		 struct bench_common *common);
void bench_print_options(FILE *out, const struct bench_option *table);
/* Writes the members that @table has keys for. */
void bench_json_options(struct bench_json *json,
			const struct bench_option *table, const void *args);

/* ---- what a run used (sample.c) ---- */

struct bench_sample {
	double wall, cpu;		 /* seconds */
	uint64_t voluntary, involuntary; /* context switches */
};

/* Of the whole process, threads that have exited included. */
struct bench_sample bench_sample_now(void);

/* CLOCK_MONOTONIC */
uint64_t bench_now_ns(void);

/* ---- latencies (latency.c) ---- */

/*
 * How long single operations took, in buckets of 1/16 of a power of two.
 * Whoever adds holds the mutex that guards it.
 */
#define BENCH_LATENCY_SHIFT   4
#define BENCH_LATENCY_BUCKETS (64 << BENCH_LATENCY_SHIFT)

struct bench_latency {
	uint64_t nr, total, max; /* total and max in ns */
	uint64_t buckets[BENCH_LATENCY_BUCKETS];
};

/* Each by itself, in ascending order. */
void bench_sort(uint64_t *values, size_t nr);

/* An empty one, or NULL unless @wanted. False: no memory, said on stderr. */
bool bench_latency_new(struct bench_latency **latency, bool wanted);
void bench_latency_add(struct bench_latency *latency, uint64_t ns);
void bench_latency_merge(struct bench_latency *to,
			 const struct bench_latency *from);
/* The upper end of the bucket below which @share (0 to 1) of all lie. */
uint64_t bench_latency_quantile(const struct bench_latency *latency,
				double share);

/* Writes the member "latency_ns". */
void bench_latency_json(struct bench_json *json,
			const struct bench_latency *latency);

/* ---- busy time (work.c) ---- */

/* Rounds of bench_work() that take @ns; measured when first asked. */
uint64_t bench_work_rounds(uint64_t ns);

/* What a round takes, ps: 0, not known; or to be taken for granted. */
uint64_t bench_work_cost(void);
void bench_work_set_cost(uint64_t ps);

/* Compute for that long, without touching memory. */
void bench_work(uint64_t rounds);

/* ---- counters of the kernel and the processor (perf.c) ---- */

/*
 * Begin to count, in threads made from now on as well. What cannot be
 * counted here is remembered with the reason.
 */
void bench_perf_open(void);
void bench_perf_begin(void);
void bench_perf_end(void);

void bench_perf_json(struct bench_json *json);
void bench_perf_print(FILE *out, uint64_t operations);

/* ---- one run ---- */

struct bench_run {
	const struct bench_common *common;
	struct bench_sample begin, end; /* around the measured part */
	uint64_t operations; /* in it: waiters times rounds, hand-offs ... */
	uint64_t spurious;   /* returns from a wait that nobody asked for */
	uint64_t futile;     /* returns for something that another has taken */
	/* Of an operation; 0: the time from begin to end over operations. */
	double ns_per_operation;
	struct bench_latency *latency; /* the suite's; NULL: not measured */
};

/*
 * The clock is read last at the beginning and first at the end, so that
 * counting context switches is not itself measured.
 */
void bench_begin(struct bench_run *run);
void bench_end(struct bench_run *run);

/* One line on stderr, behind the program's name. */
void bench_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the process with a message and BENCH_WRONG: threads may be stuck. */
_Noreturn void bench_wrong(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* End the process unless @error, the return value of @call, is 0. */
_Noreturn void bench_call_failed(const char *call, int error);

static inline void bench_expect_0(const char *call, int error)
{
	if (__builtin_expect(error, 0))
		bench_call_failed(call, error);
}

/* ---- threads (threads.c, limits.c) ---- */

struct bench_threads {
	pthread_t *ids;
	size_t started;
};

/**
 * bench_threads_start() - Start @wanted threads.
 * @arg: The first thread's argument; the next lies @stride bytes behind it.
 *
 * When the system gives no more threads or memory, says on stderr which limit
 * it was and returns false. The caller then tells @threads->started threads
 * to leave. Either way bench_threads_join() must follow.
 */
bool bench_threads_start(struct bench_threads *threads, size_t wanted,
			 uint64_t stack, void *(*main)(void *), void *arg,
			 size_t stride);
void bench_threads_join(struct bench_threads *threads);

/* Zeroed and on cache lines of its own; NULL after a message on stderr. */
void *bench_alloc(size_t count, size_t size);

/* Say on stderr why the thread after @started others was refused. */
void bench_explain_no_thread(size_t started, size_t wanted, uint64_t stack,
			     int error);

/* ---- watchdog (watchdog.c) ---- */

struct bench_watch {
	uint64_t (*progress)(void *arg); /* grows while the run lives */
	void (*explain)(void *arg);	 /* bench_error() where it stands */
	void *arg;
};

/*
 * Start a thread that ends the process with BENCH_WRONG once @watch has made
 * no progress for @seconds. Both functions are called beside the running
 * threads: they may read atomics only. Returns false after a message.
 */
bool bench_watchdog_start(const struct bench_watch *watch, uint64_t seconds);
void bench_watchdog_stop(void);

/* ---- JSON (json.c) ---- */

/* Objects on one line, built member by member. */
struct bench_json {
	FILE *out;
	bool empty;
};

void bench_json_open(struct bench_json *json, FILE *out);
void bench_json_string(struct bench_json *json, const char *key,
		       const char *value);
void bench_json_count(struct bench_json *json, const char *key, uint64_t value);
void bench_json_real(struct bench_json *json, const char *key, double value);
void bench_json_bool(struct bench_json *json, const char *key, bool value);
/* A member that is itself an object, until the matching _end(). */
void bench_json_begin(struct bench_json *json, const char *key);
void bench_json_end(struct bench_json *json);
/* A member that is an array of pairs of counts. */
void bench_json_pairs(struct bench_json *json, const char *key,
		      const uint64_t (*pairs)[2], size_t nr);
void bench_json_close(struct bench_json *json);

/* ---- where it runs (system.c) ---- */

/* The file that @function was loaded from. */
const char *bench_file_of(void (*function)(void));
const char *bench_libc_version(void);
const char *bench_compiler_version(void);
/* "Linux 6.12.0" */
const char *bench_kernel(void);
/* CPUs that this process may run on. */
unsigned int bench_cpus(void);

/* ---- suites ---- */

/* What is measured: the header of an implementation defines one. */
struct bench_impl {
	const char *name;
	const char *help;
	/* What was really loaded: its file and its version. */
	const char *(*library)(void);
	const char *(*version)(void);
};

/* Define impl, a struct bench_impl whose library() is impl_library(). */
#define BENCH_IMPL(called, text, version_of)    \
	static const struct bench_impl impl = { \
		.name = (called),               \
		.help = (text),                 \
		.library = impl_library,        \
		.version = (version_of),        \
	}

struct bench_suite {
	const char *name;
	const char *summary;
	const char *operation;	  /* one of bench_run.operations, in words */
	const char *switches_key; /* JSON: switches for each of them */
	const struct bench_impl *impl; /* what it was compiled for */
	const struct bench_option *options;
	size_t args_size;

	/* Fills in @run. Returns BENCH_OK or BENCH_FAILED. */
	enum bench_exit (*run)(struct bench_run *run, const void *args);
	/* The one line that a person sees. */
	void (*print)(FILE *out, const struct bench_run *run, const void *args);
	/* Members of the JSON object besides the options' keys; NULL: none. */
	void (*json)(struct bench_json *json, const struct bench_run *run,
		     const void *args);
};

/*
 * Make a suite of what a file has defined: struct args, options, run() and
 * print(), and impl, which comes with the header of the implementation. The
 * arguments initialize the other members of struct bench_suite.
 *
 * Suites are collected by the linker: a program has those it is linked with,
 * each once for every implementation it was compiled for.
 * The section's name is a C identifier, so the linker makes the symbols
 * __start_bench_suites and __stop_bench_suites.
 */
#define BENCH_SUITE(...)                                                 \
	static const struct bench_suite suite = {                        \
		.impl = &impl,                                           \
		.options = options,                                      \
		.args_size = sizeof(struct args),                        \
		.run = run,                                              \
		.print = print,                                          \
		__VA_ARGS__,                                             \
	};                                                               \
	static const struct bench_suite *const suite_entry               \
		__attribute__((used, retain, section("bench_suites"))) = \
			&suite

#endif
