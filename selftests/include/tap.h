/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tap.h - results of a test program in the Test Anything Protocol
 *
 *	tap_plan(2);
 *	tap_is(wake(1), 0, "there is no waiter to wake");
 *	tap_skip("real-time order", "SCHED_FIFO is not permitted");
 *	return tap_exit();
 *
 * Only the main thread may give results. A child of fork() must end by _exit().
 */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAP_PASS 0
#define TAP_FAIL 1
#define TAP_SKIP 4 /* KSFT_SKIP, which is "skipped" to kselftest */

/* The number of rows of a table. */
#define NR_OF(list) ((int)(sizeof(list) / sizeof((list)[0])))

#define TAP_PRINTF(fmt) __attribute__((format(printf, fmt, fmt + 1), unused))

static struct tap_state {
	unsigned int planned;
	unsigned int passed;
	unsigned int failed;
	unsigned int skipped;
} tap;

/* tap_start - the first call of a test, if it does not know how many results */
static inline void tap_start(void)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	printf("TAP version 13\n");
}

/*
 * tap_plan - the first call of a test that knows how many results will follow
 */
static inline void tap_plan(unsigned int nr_tests)
{
	tap_start();
	tap.planned = nr_tests;
	printf("1..%u\n", nr_tests);
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

/* tap_bail - end a test that cannot go on (out of memory, no /proc...) */
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

/* tap_ok - one result. Return: @ok */
static TAP_PRINTF(2) bool tap_ok(bool ok, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_vresult(ok, fmt, args);
	va_end(args);
	return ok;
}

/*
 * tap_is - one result: @got must equal @want; if it does not, both are printed
 */
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

/* IS - one result, whose name is the call itself */
#define IS(want, call) tap_is(call, want, "%s", #call)

/* MUST - end the test if a call fails; -1: the reason is in errno */
#define MUST(call) tap_must(call, #call)

static inline void tap_must(int err, const char *call)
{
	if (err)
		tap_bail("%s: %s", call, strerror(err < 0 ? errno : err));
}

/* tap_skip - one result that is not possible here, and the reason */
static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %u %s # SKIP %s\n", tap_next(), name, why);
	tap.skipped++;
}

/* tap_skip_all - skip @nr results for one reason */
static inline void tap_skip_all(int nr, const char *name, const char *why)
{
	while (nr-- > 0)
		tap_skip(name, why);
}

/* tap_exit - end the report. Return: what main() should return */
static inline int tap_exit(void)
{
	unsigned int nr_done = tap_next() - 1;

	if (!tap.planned) {
		tap.planned = nr_done;
		printf("1..%u\n", nr_done);
	}
	if (nr_done != tap.planned)
		tap_diag("planned %u tests and ran %u", tap.planned, nr_done);
	tap_diag("Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0",
		 tap.passed, tap.failed, tap.skipped);
	fflush(stdout);
	if (tap.failed || nr_done != tap.planned)
		return TAP_FAIL;
	return nr_done && tap.skipped == nr_done ? TAP_SKIP : TAP_PASS;
}

/*
 * tap_skipped - for a main() that can test nothing here: what it should return
 */
static inline int tap_skipped(const char *name, const char *why)
{
	tap_plan(1);
	tap_skip(name, why);
	return tap_exit();
}

/*
 * What cannot be tested in a build with a sanitizer
 *
 * ThreadSanitizer delays a signal until the thread calls one of the sanitizer's
 * functions, so a thread that sleeps in futex never runs its handler. It ends
 * the child of a fork that starts a thread. It crashes if the memory of a
 * thread that has ended was unmapped, it takes a mutex whose lock returns
 * EINVAL for one that does not exist, and it does not know a mutex of the
 * program's own. AddressSanitizer takes frames that a cancellation has unwound
 * for alive, and in the child of a fork the lock of its allocator may be held
 * by a thread that the child does not have.
 */

#ifdef __SANITIZE_THREAD__
#define NO_TSAN 0
#else
#define NO_TSAN 1
#endif
#define HANDLERS_ARE_PROMPT	  NO_TSAN
#define CHILDREN_MAY_HAVE_THREADS NO_TSAN
#define ANY_LOCK_MAY_FAIL	  NO_TSAN
#define STACKS_MAY_GO		  NO_TSAN
#define RACES_MAY_BE_REAL	  NO_TSAN
#define MUTEXES_MAY_BE_FOREIGN	  NO_TSAN

#ifdef __SANITIZE_ADDRESS__
#define FRAMES_MAY_UNWIND 0
#else
#define FRAMES_MAY_UNWIND 1
#endif

/*
 * POSIX does not say whether a child of a multithreaded process may start some.
 */
#define FORK_THREADS_WORK (NO_TSAN && FRAMES_MAY_UNWIND)
#define FORK_THREADS_SKIP "with this sanitizer a child cannot start threads"

#define FRAMES_STAY "AddressSanitizer takes unwound frames for alive"

/* skips_cancellation - skip one test, if frames cannot be unwound */
static inline bool skips_cancellation(const char *name)
{
	if (!FRAMES_MAY_UNWIND)
		tap_skip(name, FRAMES_STAY);
	return !FRAMES_MAY_UNWIND;
}

/* frames_stay - skip all, because threads are cancelled: what main() returns */
static inline int frames_stay(void)
{
	return tap_skipped("cancellation", FRAMES_STAY);
}

/*
 * handlers_are_late - skip all, because of signal handlers: what main() returns
 */
static inline int handlers_are_late(void)
{
	return tap_skipped("signal handlers", "ThreadSanitizer delays them");
}

/*
 * The watchdog ends a program that hangs, with a report
 *
 *	watchdog("rounds of broadcasts");	// again for every stage
 *
 * The stage that was announced last has to be over within watchdog_seconds. If
 * it is not, watchdog_report() is called. If the alarm itself comes late, the
 * process was stopped or the machine was too busy, and the time begins again.
 */

#define WATCHDOG_SECONDS 60
#define WATCHDOG_LATE	 INT64_C(1000000000)

static const char *volatile watchdog_stage;
static unsigned int watchdog_seconds = WATCHDOG_SECONDS;
static void (*volatile watchdog_report)(void);
static volatile int64_t watchdog_due;

static inline int64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t blocked_now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

static inline void watchdog_start(void)
{
	watchdog_due =
		blocked_now_ns() + watchdog_seconds * INT64_C(1000000000);
	alarm(watchdog_seconds);
}

static inline void watchdog_write(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(TAP_FAIL);
}

static inline void watchdog_bite(int number)
{
	if (blocked_now_ns() > watchdog_due + WATCHDOG_LATE) {
		watchdog_start();
		return;
	}
	/* If the report hangs, the next alarm ends the program. */
	signal(number, SIG_DFL);
	alarm(WATCHDOG_SECONDS);
	watchdog_write("Bail out! hangs in: ");
	watchdog_write(watchdog_stage);
	watchdog_write("\n");
	if (watchdog_report)
		watchdog_report();
	_exit(TAP_FAIL);
}

static inline void watchdog(const char *stage)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = watchdog_bite;
	action.sa_flags = SA_NODEFER | SA_RESTART;
	watchdog_stage = stage;
	sigaction(SIGALRM, &action, NULL);
	watchdog_start();
}
