/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tap.h - results of a test program in the Test Anything Protocol
 *
 * What kselftest reads: a version line, a plan, one line for each result.
 *
 *	int main(void)
 *	{
 *		tap_plan(3);
 *		tap_ok(wake(1) == 1, "one waiter woken");
 *		tap_is(wake(1), 0, "nobody left to wake");
 *		tap_skip("real-time order", "SCHED_FIFO is not permitted");
 *		return tap_exit();
 *	}
 *
 * Only one thread may report: call these from the main thread. Results are
 * written line by line, so a program that is killed has said what it knew.
 * A child made by fork() must leave by _exit().
 */
#ifndef DROVER_SELFTESTS_TAP_H
#define DROVER_SELFTESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TAP_PASS 0
#define TAP_FAIL 1
#define TAP_SKIP 4 /* KSFT_SKIP: what kselftest takes for "skipped" */

#define TAP_PRINTF(fmt) __attribute__((format(printf, fmt, fmt + 1), unused))

static struct tap_state {
	unsigned int planned;
	unsigned int passed;
	unsigned int failed;
	unsigned int skipped;
} tap;

/* tap_plan - say how many results will follow; first call of every test */
static inline void tap_plan(unsigned int nr_tests)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	tap.planned = nr_tests;
	printf("TAP version 13\n1..%u\n", nr_tests);
}

/* tap_diag - a line for the reader that is not a result */
static TAP_PRINTF(1) void tap_diag(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

/* tap_bail - the test cannot go on at all (out of memory, no /proc ...) */
static TAP_PRINTF(1)
	__attribute__((noreturn)) void tap_bail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("Bail out! ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_Exit(TAP_FAIL);
}

static inline unsigned int tap_next(void)
{
	return tap.passed + tap.failed + tap.skipped + 1;
}

static inline void tap_vresult(bool ok, const char *fmt, va_list args)
{
	printf("%s %u ", ok ? "ok" : "not ok", tap_next());
	vprintf(fmt, args);
	printf("\n");
	if (ok)
		tap.passed++;
	else
		tap.failed++;
}

/* tap_ok - one result; returns @ok, so that a test can stop on failure */
static TAP_PRINTF(2) bool tap_ok(bool ok, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_vresult(ok, fmt, args);
	va_end(args);
	return ok;
}

/* tap_is - one result: @got must equal @want; prints both if it does not */
static TAP_PRINTF(3) bool tap_is(long got, long want, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_vresult(got == want, fmt, args);
	va_end(args);
	if (got != want)
		tap_diag("got %ld, expected %ld", got, want);
	return got == want;
}

/* tap_skip - one result that could not be had here, and why */
static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %u %s # SKIP %s\n", tap_next(), name, why);
	tap.skipped++;
}

/* tap_exit - close the report; what main() returns */
static inline int tap_exit(void)
{
	unsigned int nr_done = tap_next() - 1;

	if (nr_done != tap.planned)
		tap_diag("planned %u tests and ran %u", tap.planned, nr_done);
	tap_diag("Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0",
		 tap.passed, tap.failed, tap.skipped);
	fflush(stdout);
	if (tap.failed || nr_done != tap.planned)
		return TAP_FAIL;
	return nr_done && tap.skipped == nr_done ? TAP_SKIP : TAP_PASS;
}

#endif /* DROVER_SELFTESTS_TAP_H */
