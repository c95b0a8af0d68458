// SPDX-License-Identifier: MIT
/*
 * Counts what `perf stat` would count, but in the measured part alone: without
 * the making and the end of the threads.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define MAX_COUNTERS 48
#define TRACING	     "/sys/kernel/tracing/events"

struct counter {
	char name[64];
	int fd; /* -1: not counted; @why says the reason */
	char why[160];
	uint64_t begin, end;
};

static struct counter counters[MAX_COUNTERS];
static size_t nr_counters;

static int paranoid(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int value = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

static void explain(struct counter *counter, int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		snprintf(counter->why, sizeof(counter->why),
			 "this machine has no such counter");
		break;
	case EACCES:
	case EPERM:
		snprintf(counter->why, sizeof(counter->why),
			 "not permitted: kernel.perf_event_paranoid is %d",
			 paranoid());
		break;
	case ENOSYS:
		snprintf(counter->why, sizeof(counter->why),
			 "the kernel has no perf events");
		break;
	default:
		snprintf(counter->why, sizeof(counter->why),
			 "perf_event_open: %s", strerror(error));
	}
}

static struct counter *add(const char *name)
{
	struct counter *counter = &counters[nr_counters];

	if (nr_counters == MAX_COUNTERS)
		return NULL;
	nr_counters++;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->fd = -1;
	return counter;
}

static void open_counter(const char *name, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.inherit = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct counter *counter = add(name);

	if (!counter)
		return;
	counter->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);
	if (counter->fd < 0)
		explain(counter, errno);
}

/* The number by which a tracepoint is opened; -1 if it does not exist. */
static int64_t tracepoint_id(const char *group, const char *event)
{
	char path[300];
	int64_t id = -1;
	FILE *file;

	snprintf(path, sizeof(path), TRACING "/%s/%s/id", group, event);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%" SCNd64, &id) != 1)
		id = -1;
	fclose(file);
	return id;
}

static const char *why_no_tracepoint(void)
{
	if (!access(TRACING "/sched", F_OK))
		return "the kernel has no such tracepoint";
	if (geteuid())
		return "only root may look into " TRACING;
	return TRACING
		" is not there: mount -t tracefs tracefs /sys/kernel/tracing, if the kernel has tracing";
}

static void open_tracepoint(const char *name, const char *group,
			    const char *event)
{
	int64_t id = tracepoint_id(group, event);
	struct counter *counter;

	if (id >= 0) {
		open_counter(name, PERF_TYPE_TRACEPOINT, id);
		return;
	}
	counter = add(name);
	if (counter)
		snprintf(counter->why, sizeof(counter->why), "%s",
			 why_no_tracepoint());
}

/* All tracepoints that the kernel has for its futexes. */
static void open_futex_tracepoints(void)
{
	DIR *folder = opendir(TRACING "/futex");
	struct dirent *entry;
	char name[64];

	if (!folder) {
		open_tracepoint("futex:*", "futex", "*");
		return;
	}
	while ((entry = readdir(folder))) {
		if (tracepoint_id("futex", entry->d_name) < 0)
			continue;
		snprintf(name, sizeof(name), "futex:%.50s", entry->d_name);
		open_tracepoint(name, "futex", entry->d_name);
	}
	closedir(folder);
}

void bench_perf_open(void)
{
	open_counter("task-clock", PERF_TYPE_SOFTWARE,
		     PERF_COUNT_SW_TASK_CLOCK);
	open_counter("context-switches", PERF_TYPE_SOFTWARE,
		     PERF_COUNT_SW_CONTEXT_SWITCHES);
	open_counter("cpu-migrations", PERF_TYPE_SOFTWARE,
		     PERF_COUNT_SW_CPU_MIGRATIONS);
	open_counter("page-faults", PERF_TYPE_SOFTWARE,
		     PERF_COUNT_SW_PAGE_FAULTS);
	open_counter("instructions", PERF_TYPE_HARDWARE,
		     PERF_COUNT_HW_INSTRUCTIONS);
	open_counter("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	open_counter("cache-misses", PERF_TYPE_HARDWARE,
		     PERF_COUNT_HW_CACHE_MISSES);
	open_tracepoint("raw_syscalls:sys_enter", "raw_syscalls", "sys_enter");
	open_tracepoint("syscalls:sys_enter_futex", "syscalls",
			"sys_enter_futex");
	open_tracepoint("sched:sched_waking", "sched", "sched_waking");
	open_futex_tracepoints();
}

/*
 * The count of this thread and of all threads that it has made. If the counter
 * had to share the hardware, the count is scaled up to the whole time.
 */
static uint64_t value_of(const struct counter *counter)
{
	struct {
		uint64_t value, enabled, running;
	} now = { 0 };

	if (read(counter->fd, &now, sizeof(now)) != sizeof(now))
		return 0;
	if (now.running && now.running < now.enabled)
		return (double)now.value * now.enabled / now.running;
	return now.value;
}

void bench_perf_begin(void)
{
	for (size_t i = 0; i < nr_counters; i++)
		if (counters[i].fd >= 0)
			counters[i].begin = value_of(&counters[i]);
}

void bench_perf_end(void)
{
	for (size_t i = 0; i < nr_counters; i++)
		if (counters[i].fd >= 0)
			counters[i].end = value_of(&counters[i]);
}

void bench_perf_json(struct bench_json *json)
{
	bench_json_begin(json, "perf");
	for (size_t i = 0; i < nr_counters; i++)
		if (counters[i].fd >= 0)
			bench_json_count(json, counters[i].name,
					 counters[i].end - counters[i].begin);
	bench_json_end(json);
	bench_json_begin(json, "perf_missing");
	for (size_t i = 0; i < nr_counters; i++)
		if (counters[i].fd < 0)
			bench_json_string(json, counters[i].name,
					  counters[i].why);
	bench_json_end(json);
}

void bench_perf_print(FILE *out, uint64_t operations)
{
	for (size_t i = 0; i < nr_counters; i++) {
		const struct counter *counter = &counters[i];
		uint64_t count = counter->end - counter->begin;

		if (counter->fd < 0)
			fprintf(out, "  %-26s not counted: %s\n", counter->name,
				counter->why);
		else
			fprintf(out, "  %-26s %14" PRIu64 "  %10.3f each\n",
				counter->name, count,
				(double)count / operations);
	}
}
