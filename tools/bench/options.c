// SPDX-License-Identifier: MIT
/*
 * The command line is read by getopt_long() and not by argp, because
 * drover-bench is also built with musl, which has no argp.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define MAX_OPTIONS 32

const struct bench_option bench_common_options[] = {
	BENCH_WORD_OF(bench_common, 'I', "impl", impl, "IMPL",
		      "what is measured, see below"),
	BENCH_COUNT_OF(bench_common, 'S', "stack", stack, 1, UINT64_C(1) << 30,
		       "STACKSIZE",
		       "bytes of stack for each thread (default 32768)"),
	BENCH_COUNT_OF(
		bench_common, 'W', "watchdog", watchdog, 0, 1000000, "SECONDS",
		"give up after so long without progress (default 120, 0 never)"),
	BENCH_COUNT_OF(bench_common, 'C', "cost", cost, 1, 1000000,
		       "PICOSECONDS",
		       "what a round of work takes (default: it is measured)"),
	BENCH_FLAG_OF(
		bench_common, 'P', "perf", perf,
		"count instructions, switches, system calls, tracepoints too"),
	BENCH_FLAG_OF(bench_common, 'j', "json", json, "print one JSON object"),
	BENCH_FLAG_OF(bench_common, 'v', "verbose", verbose,
		      "print library, CPU time and context switches too"),
	BENCH_FLAG_OF(bench_common, 'h', "help", help, "print this and exit"),
	{ 0 }
};

/* An option, and the structure that its value goes to. */
struct slot {
	const struct bench_option *option;
	char *base;
	bool given;
};

static size_t add_slots(struct slot *slots, size_t used,
			const struct bench_option *table, void *base)
{
	for (; table->letter && used < MAX_OPTIONS; table++) {
		slots[used++] = (struct slot){ table, base, false };
		if (table->preset)
			*(uint64_t *)((char *)base + table->offset) =
				table->preset;
	}
	return used;
}

static bool parse_count(const struct bench_option *option, const char *text,
			uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	/* strtoull() would take a sign and leading blanks, and wrap -1. */
	if (!isdigit((unsigned char)text[0]) || *end) {
		bench_error("--%s: '%s' is not a whole number", option->name,
			    text);
		return false;
	}
	if (errno || *value < option->min || *value > option->max) {
		bench_error("--%s: %s is not between %" PRIu64 " and %" PRIu64,
			    option->name, text, option->min, option->max);
		return false;
	}
	return true;
}

static bool store(struct slot *slot, const char *text)
{
	void *where = slot->base + slot->option->offset;

	slot->given = true;
	switch (slot->option->kind) {
	case BENCH_FLAG:
		*(bool *)where = true;
		return true;
	case BENCH_WORD:
		*(const char **)where = text;
		return true;
	case BENCH_COUNT:
		return parse_count(slot->option, text, where);
	}
	return false;
}

static struct slot *slot_of(struct slot *slots, size_t n, int letter)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i].option->letter == letter)
			return &slots[i];
	return NULL;
}

static void describe(const struct slot *slots, size_t n, char *letters,
		     struct option *names)
{
	for (size_t i = 0; i < n; i++) {
		const struct bench_option *option = slots[i].option;
		bool argument = option->kind != BENCH_FLAG;

		*letters++ = option->letter;
		if (argument)
			*letters++ = ':';
		names[i] = (struct option){
			option->name,
			argument ? required_argument : no_argument,
			NULL,
			option->letter,
		};
	}
	*letters = '\0';
	names[n] = (struct option){ 0 };
}

static bool store_operand(struct slot *slots, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i].option->operand && !slots[i].given)
			return store(&slots[i], text);
	bench_error("'%s' is no option", text);
	return false;
}

static bool is_complete(const struct slot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (slots[i].option->required && !slots[i].given) {
			bench_error("missing: -%c %s", slots[i].option->letter,
				    slots[i].option->metavar);
			return false;
		}
	}
	return true;
}

static bool stack_is_enough(uint64_t stack)
{
	uint64_t min = sysconf(_SC_THREAD_STACK_MIN);

	if (stack >= min)
		return true;
	bench_error("--stack: %" PRIu64
		    " is less than a thread needs here, %" PRIu64 "",
		    stack, min);
	return false;
}

bool bench_parse(int argc, char **argv,
		 const struct bench_option *suite_options, void *args,
		 struct bench_common *common)
{
	struct slot slots[MAX_OPTIONS];
	char letters[2 * MAX_OPTIONS + 1];
	struct option names[MAX_OPTIONS + 1];
	size_t n = add_slots(slots, 0, suite_options, args);
	int letter;

	n = add_slots(slots, n, bench_common_options, common);
	describe(slots, n, letters, names);
	while ((letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		struct slot *slot = slot_of(slots, n, letter);

		/* getopt_long() has printed which option it does not know. */
		if (!slot || !store(slot, optarg))
			return false;
		if (common->help)
			return true;
	}
	for (; optind < argc; optind++)
		if (!store_operand(slots, n, argv[optind]))
			return false;
	return is_complete(slots, n) && stack_is_enough(common->stack);
}

void bench_print_options(FILE *out, const struct bench_option *table)
{
	for (; table->letter; table++) {
		char left[80];

		snprintf(left, sizeof(left), "-%c%s%s, --%s%s%s", table->letter,
			 table->metavar ? " " : "", table->metavar ?: "",
			 table->name, table->metavar ? "=" : "",
			 table->metavar ?: "");
		fprintf(out, "  %-42s %s\n", left, table->help);
	}
}

void bench_json_options(struct bench_json *json,
			const struct bench_option *table, const void *args)
{
	for (; table->letter; table++) {
		const void *value = (const char *)args + table->offset;

		if (!table->key)
			continue;
		switch (table->kind) {
		case BENCH_FLAG:
			bench_json_bool(json, table->key, *(const bool *)value);
			break;
		case BENCH_COUNT:
			bench_json_count(json, table->key,
					 *(const uint64_t *)value);
			break;
		case BENCH_WORD:
			bench_json_string(json, table->key,
					  *(const char *const *)value);
			break;
		}
	}
}
