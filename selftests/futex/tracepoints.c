// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints futex:futex_wait, futex_wake and futex_requeue show each
 * call with what was asked for and what came of it, and nothing else.
 */
#include <sys/stat.h>

#include "sleepers.h"

#define TRACING	   "/sys/kernel/tracing"
#define TRACE_SIZE (1 << 20)

#define NR_WAITERS 5

static uint32_t from, to;
static char instance[64];
static char trace[TRACE_SIZE];

/* Read or write a file of our own trace buffer. */
static ssize_t trace_file(const char *name, int mode, char *text, size_t size)
{
	char path[128];
	ssize_t len = 0, got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, mode);
	if (fd < 0)
		tap_bail("%s: %s", path, strerror(errno));
	do {
		got = mode == O_RDONLY ? read(fd, text + len, size - len) :
					 write(fd, text + len, size - len);
		if (got < 0)
			tap_bail("%s: %s", path, strerror(errno));
		len += got;
	} while (got > 0 && (size_t)len < size);
	close(fd);
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

static void test_wait(const uint32_t *word, long result, int nr)
{
	char end[128];

	snprintf(end, sizeof(end),
		 ": futex_wait: uaddr=%p val=0x0 bitset=0xffffffff ret=%ld",
		 (const void *)word, result);
	tap_is(nr_events(end), nr, "waits that end with %ld", result);
}

static void test_wake(const uint32_t *word, int nr_wake, long result)
{
	char end[128];

	snprintf(end, sizeof(end),
		 ": futex_wake: uaddr=%p nr_wake=%d bitset=0xffffffff ret=%ld",
		 (const void *)word, nr_wake, result);
	tap_is(nr_events(end), 1, "a wake of %d that answers %ld", nr_wake,
	       result);
}

static void test_requeue(const char *what, const char *rest, int nr)
{
	char end[256];

	snprintf(end, sizeof(end), ": futex_requeue: uaddr1=%p uaddr2=%p %s",
		 (void *)&from, (void *)&to, rest);
	tap_is(nr_events(end), nr, "%s", what);
}

static void trace_all_calls(void)
{
	const int requeue = FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG;
	static const uint32_t other;

	snprintf(instance, sizeof(instance), TRACING "/instances/drover-%d",
		 getpid());
	MUST(mkdir(instance, 0700));
	trace_file("events/futex/enable", O_WRONLY, (char[]){ "1" }, 1);
	sleepers_fill(NR_WAITERS, &from, FUTEX_PRIVATE_FLAG);
	sys_futex_wait(&from, FUTEX_PRIVATE_FLAG, 0, &(struct timespec){ 0 });
	sys_futex(&from, requeue, 1, INT_MAX, &to, 7);
	sys_futex(&from, requeue, 1, 3, &to, 0);
	sys_futex_wake(&other, FUTEX_PRIVATE_FLAG, 9);
	while (nr_returned < nr_sleepers) {
		sleepers_wake(&to, FUTEX_PRIVATE_FLAG, INT_MAX);
		sleepers_wake(&from, FUTEX_PRIVATE_FLAG, INT_MAX);
	}
	sleepers_end();
	trace_file("events/futex/enable", O_WRONLY, (char[]){ "0" }, 1);
	trace[trace_file("trace", O_RDONLY, trace, TRACE_SIZE - 1)] = '\0';
	MUST(rmdir(instance));
	test_wake(&other, 9, 0);
}

int main(void)
{
	bool moves = !variant_is("none");

	if (access(TRACING "/events/futex", F_OK)) {
		if (variant_is_host())
			return tap_skipped("tracepoints", "not in this kernel");
		tap_bail("no tracepoints: %s", strerror(errno));
	}
	tap_plan(8);
	trace_all_calls();
	test_wait(&from, 0, NR_WAITERS);
	test_wait(&from, -ETIMEDOUT, 1);
	/* One is woken and three are moved; the fifth stays. */
	test_wake(&to, INT_MAX, moves ? 3 : 0);
	test_wake(&from, INT_MAX, moves ? 1 : NR_WAITERS);
	test_requeue("a requeue that finds another value",
		     "nr_wake=1 nr_requeue=2147483647 woken=0 requeued=0"
		     " ret=-11",
		     moves);
	test_requeue("a requeue that wakes one and moves three",
		     "nr_wake=1 nr_requeue=3 woken=1 requeued=3 ret=4", moves);
	/* A requeue that there is not has no event. */
	tap_ok(moves || !strstr(trace, "futex_requeue:"), "no other event");
	return tap_exit();
}
