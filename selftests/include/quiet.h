/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * quiet.h - is a process asleep as a whole?
 *
 *	switch (wait_quiet(pid, 60)) ...
 *
 * When all threads of a process sleep at the same moment, without timeouts and
 * with nobody outside to wake them, none of them will ever run again by itself.
 * That tells a lost wakeup from a late one, without guessing how long late can
 * be.
 *
 * Each thread is looked at twice. One that sleeps both times, and has not given
 * up its CPU in between, has slept all the time from the first look to the
 * second. If that is so of all, they all slept at the end of the first round.
 * A thread that a tracer has stopped counts as asleep.
 */
#ifndef DROVER_SELFTESTS_QUIET_H
#define DROVER_SELFTESTS_QUIET_H

#include <dirent.h>

#include "blocked.h"

/* A sum that changes whenever one of the threads begins another sleep. */
struct quiet_look {
	bool asleep;
	int nr_threads;
	uint64_t sleeps;
};

static inline bool quiet_look_at(pid_t pid, pid_t tid, struct quiet_look *look)
{
	static const char switches[] = "\nvoluntary_ctxt_switches:";
	char text[4096], *state, *count;

	if (blocked_read(pid, tid, "status", text, sizeof(text)) < 0)
		return false;
	state = strstr(text, "\nState:\t");
	count = strstr(text, switches);
	if (!state || !count || !strchr("St", state[8]))
		return false;
	look->nr_threads++;
	look->sleeps += (uint64_t)tid << 32;
	look->sleeps += strtoull(count + sizeof(switches) - 1, NULL, 10);
	return true;
}

static inline struct quiet_look quiet_look(pid_t pid)
{
	struct quiet_look look = { .asleep = true };
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return (struct quiet_look){ 0 };
	while (look.asleep && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			look.asleep =
				quiet_look_at(pid, atoi(entry->d_name), &look);
	closedir(dir);
	return look;
}

/* is_quiet - do all threads of @pid sleep at this moment? */
static inline bool is_quiet(pid_t pid)
{
	struct quiet_look first = quiet_look(pid), second;

	if (!first.asleep || !first.nr_threads)
		return false;
	second = quiet_look(pid);
	return second.asleep && first.nr_threads == second.nr_threads &&
	       first.sleeps == second.sleeps;
}

/* wait_quiet - wait until all threads sleep: 0, or -ETIMEDOUT */
static inline int wait_quiet(pid_t pid, int seconds)
{
	int64_t deadline = blocked_now_ns() + seconds * INT64_C(1000000000);

	while (!is_quiet(pid)) {
		if (blocked_now_ns() > deadline)
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

#endif /* DROVER_SELFTESTS_QUIET_H */
