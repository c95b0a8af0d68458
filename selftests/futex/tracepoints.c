// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints futex:futex_wait, futex_wake and futex_requeue show each call
 * with its arguments and its result, and show nothing else.
 */
#include <sys/stat.h>

#define DROVER_REQUEUE_MARK /* futex_requeue_mark() */
#include "base/futex.h"
#include "sleepers.h"

#define TRACING	   "/sys/kernel/tracing"
#define TRACE_SIZE (1 << 20)

#define NR_WAITERS 5

static futex_word from, to, locked = 1;
static char instance[64];
static char trace[TRACE_SIZE];

/* Read or write a file of the test's own trace buffer. */
static size_t trace_file(const char *name, const char *mode, char *text,
			 size_t size)
{
	char path[128];
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	file = fopen(path, mode);
	if (!file)
		tap_bail("%s: %s", path, strerror(errno));
	len = *mode == 'r' ? fread(text, 1, size, file) :
			     fwrite(text, 1, size, file);
	if (ferror(file) || fclose(file))
		tap_bail("%s: %s", path, strerror(errno));
	return len;
}

/* How many events end like this; the end is all that the event says. */
static int nr_events(const char *end)
{
	size_t len = strlen(end);
	char *line, *next;
	int nr = 0;

	for (line = trace; *line; line = next) {
		next = strchrnul(line, '\n');
		if ((size_t)(next - line) >= len &&
		    memcmp(next - len, end, len) == 0)
			nr++;
		next += *next == '\n';
	}
	return nr;
}

static TAP_PRINTF(3) void test(int nr, const char *what, const char *fmt, ...)
{
	char end[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(end, sizeof(end), fmt, args);
	va_end(args);
	tap_is(nr_events(end), nr, "%s", what);
}

#define WAIT	": futex_wait: uaddr=%p val=0x0 bitset=0xffffffff ret=%d"
#define WAKE	": futex_wake: uaddr=%p nr_wake=%d bitset=0xffffffff ret=%d"
#define REQUEUE ": futex_requeue: uaddr1=%p uaddr2=%p "

static void trace_all_calls(void)
{
	const int requeue = FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG;
	static const uint32_t other;

	snprintf(instance, sizeof(instance), TRACING "/instances/drover-%d",
		 getpid());
	MUST(mkdir(instance, 0700));
	trace_file("events/futex/enable", "w", (char[]){ "1" }, 1);
	sleepers_fill(NR_WAITERS, &from, FUTEX_PRIVATE_FLAG);
	sys_futex_wait(&from, FUTEX_PRIVATE_FLAG, 0, &(struct timespec){ 0 });
	sys_futex(&from, requeue, 1, INT_MAX, &to, 7);
	sys_futex(&from, requeue, 1, 3, &to, 0);
	/* Other kernels than drover refuse this call. */
	futex_requeue_mark(&from, 0, 0, &locked, 2);
	sys_futex_wake(&other, FUTEX_PRIVATE_FLAG, 9);
	while (nr_returned < nr_sleepers) {
		sleepers_wake(&to, FUTEX_PRIVATE_FLAG, INT_MAX);
		sleepers_wake(&locked, FUTEX_PRIVATE_FLAG, INT_MAX);
		sleepers_wake(&from, FUTEX_PRIVATE_FLAG, INT_MAX);
	}
	sleepers_end();
	trace_file("events/futex/enable", "w", (char[]){ "0" }, 1);
	trace[trace_file("trace", "r", trace, TRACE_SIZE - 1)] = '\0';
	MUST(rmdir(instance));
	test(1, "a wake of a futex without waiters", WAKE, (void *)&other, 9,
	     0);
}

int main(void)
{
	bool moves = !variant_is("none"), marks = variant_is("drover");

	if (access(TRACING "/events/futex", F_OK)) {
		if (variant_is_host())
			return tap_skipped("tracepoints",
					   "this kernel lacks them");
		tap_bail("no tracepoints: %s", strerror(errno));
	}
	tap_plan(9);
	trace_all_calls();
	test(NR_WAITERS, "waits that are woken", WAIT, (void *)&from, 0);
	test(1, "a wait that times out", WAIT, (void *)&from, -ETIMEDOUT);
	/*
	 * One is woken and three are moved; the fifth is moved by the call with
	 * a mark, or stays.
	 */
	test(1, "a wake of the moved waiters", WAKE, (void *)&to, INT_MAX,
	     moves ? 3 : 0);
	test(1, "a wake of the waiter that was not moved there", WAKE,
	     (void *)(marks ? &locked : &from), INT_MAX,
	     moves ? 1 : NR_WAITERS);
	test(moves, "a requeue that finds another value",
	     REQUEUE "nr_wake=1 nr_requeue=2147483647 woken=0 requeued=0"
		     " ret=-11",
	     (void *)&from, (void *)&to);
	test(moves, "a requeue that wakes one and moves three",
	     REQUEUE "nr_wake=1 nr_requeue=3 woken=1 requeued=3 ret=4",
	     (void *)&from, (void *)&to);
	test(marks, "a requeue that marks its target and wakes nobody",
	     REQUEUE "nr_wake=1 nr_requeue=0 woken=0 requeued=1 ret=1",
	     (void *)&from, (void *)&locked);
	/* A kernel without requeue has no events of it. */
	tap_ok(moves || !strstr(trace, "futex_requeue:"), "no other event");
	return tap_exit();
}
