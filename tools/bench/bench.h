/* SPDX-License-Identifier: MIT */
/*
 * The harness that every benchmark of this folder is built on.
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
	BENCH_WRONG = 3, /* a wakeup was lost, or a wait returned without one */
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
	bool operand;	 /* its letter may be left out; in the table's order */
	uint64_t preset; /* the value of a count that is not given */
	const char *key; /* JSON: the name of the member; NULL: none */
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

/* Entries of a suite's own table: the values are members of its struct args. */
#define BENCH_COUNT_OPTION(...) BENCH_COUNT_OF(args, __VA_ARGS__)
#define BENCH_FLAG_OPTION(...)	BENCH_FLAG_OF(args, __VA_ARGS__)
#define BENCH_WORD_OPTION(...)	BENCH_WORD_OF(args, __VA_ARGS__)

/* A count that must be given: @field names its member, option and JSON key. */
#define BENCH_REQUIRED_OPTION(l, field, least, most, meta, text)      \
	BENCH_COUNT_OPTION(l, #field, field, least, most, meta, text, \
			   .required = true, .key = #field)

/* A count that is @value unless it is given. The help text says so. */
#define BENCH_PRESET_OPTION(l, n, field, least, most, meta, value, text, ...) \
	BENCH_COUNT_OPTION(l, n, field, least, most, meta,                    \
			   text " (default " #value ")", .preset = (value),   \
			   __VA_ARGS__)

/* Options that several suites have in common. */
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
	uint64_t cost;	   /* ps for a round of work; 0: to be measured */
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

/* Sample the whole process, threads that have exited included. */
struct bench_sample bench_sample_now(void);

/* CLOCK_MONOTONIC */
uint64_t bench_now_ns(void);

/* ---- latencies (latency.c) ---- */

/*
 * How long single operations took, in buckets of 1/16 of a power of two. A
 * thread that adds an operation holds the mutex that guards this.
 */
#define BENCH_LATENCY_SHIFT   4
#define BENCH_LATENCY_BUCKETS (64 << BENCH_LATENCY_SHIFT)

struct bench_latency {
	uint64_t nr, total, max; /* total and max in ns */
	uint64_t buckets[BENCH_LATENCY_BUCKETS];
};

/* Sort @values in ascending order. */
void bench_sort(uint64_t *values, size_t nr);

/*
 * Set *@latency to an empty one, or to NULL unless it is @wanted. Return: false
 * after a message if there is no memory.
 */
bool bench_latency_new(struct bench_latency **latency, bool wanted);
void bench_latency_add(struct bench_latency *latency, uint64_t ns);
void bench_latency_merge(struct bench_latency *to,
			 const struct bench_latency *from);
/* The upper end of the first bucket up to which @share (0 to 1) of all lie. */
uint64_t bench_latency_quantile(const struct bench_latency *latency,
				double share);

/* Writes the member "latency_ns". */
void bench_latency_json(struct bench_json *json,
			const struct bench_latency *latency);

/* ---- busy time (work.c) ---- */

/* Rounds of bench_work() that take @ns; measures a round if its cost is 0. */
uint64_t bench_work_rounds(uint64_t ns);

/*
 * How long a round takes in ps, 0 if that is not known; set it, so that it is
 * not measured.
 */
uint64_t bench_work_cost(void);
void bench_work_set_cost(uint64_t ps);

/* Compute for @rounds rounds, without touching memory. */
void bench_work(uint64_t rounds);

/* ---- counters of the kernel and the processor (perf.c) ---- */

/*
 * Open the counters, which also count in threads made from now on. If a counter
 * cannot be opened, the reason is kept for the report.
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
	uint64_t operations; /* of that part: waiters times rounds, hand-offs */
	uint64_t spurious;   /* returns of waits that no thread had woken */
	uint64_t futile;     /* returns after another thread took the thing */
	/* 0: the time from begin to end, divided by operations. */
	double ns_per_operation;
	struct bench_latency *latency; /* the suite's; NULL: not measured */
};

/*
 * Sample the beginning and the end. The clock is read last at the beginning and
 * first at the end, so that reading the other counts is not measured.
 */
void bench_begin(struct bench_run *run);
void bench_end(struct bench_run *run);

/* Print one line on stderr, behind the program's name. */
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
 * If the system gives no more threads or memory, this prints on stderr which
 * limit was reached, and returns false. The caller then tells the
 * @threads->started threads to leave. In both cases bench_threads_join() must
 * follow.
 */
bool bench_threads_start(struct bench_threads *threads, size_t wanted,
			 uint64_t stack, void *(*main)(void *), void *arg,
			 size_t stride);
void bench_threads_join(struct bench_threads *threads);

/* Zeroed memory on cache lines of its own; NULL after a message on stderr. */
void *bench_alloc(size_t count, size_t size);

/* Say on stderr why the thread after @started others was refused. */
void bench_explain_no_thread(size_t started, size_t wanted, uint64_t stack,
			     int error);

/* ---- watchdog (watchdog.c) ---- */

struct bench_watch {
	uint64_t (*progress)(void *arg); /* grows while the run lives */
	void (*explain)(void *arg);	 /* says by bench_error() where it is */
	void *arg;
};

/*
 * Start a thread that ends the process with BENCH_WRONG once @watch has made no
 * progress for @seconds. Both functions of @watch are called while the threads
 * run, so they may only read atomics. Returns false after a message.
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

/* An implementation that is measured; its header defines one of these. */
struct bench_impl {
	const char *name;
	const char *help;
	/* The file and the version that were really loaded. */
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
	const char *switches_key; /* JSON: switches for each operation */
	const struct bench_impl *impl; /* that the suite was compiled for */
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
 * Make a suite of a file that has defined struct args, options, run() and
 * print(). The header of the implementation defines impl. The arguments
 * initialize the other members of struct bench_suite.
 *
 * The linker collects suites: a program has the suites that it is linked with,
 * each once for every implementation that it was compiled for. The section's
 * name is a C identifier, so the linker makes the symbols __start_bench_suites
 * and __stop_bench_suites.
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
