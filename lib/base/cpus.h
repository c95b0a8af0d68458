/* SPDX-License-Identifier: MIT */
/* How many CPUs there are for this process. */
#ifndef DROVER_CPUS_H
#define DROVER_CPUS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return: the number of CPUs that the calling thread may run on, or that the
 * process's first thread may run on, if that is more (a pinned thread is not
 * alone); but no more than the limit of the process's cgroup, rounded up; at
 * least 1. Reads files: not to be called where a few microseconds matter.
 */
unsigned int cpus_usable(void);

/*
 * The same for the thread @tid alone (0: the caller), with the cgroup's limit as it
 * was read last: one system call, and no file.
 */
unsigned int cpus_usable_by(pid_t tid);

/* Find out which CPUs are the slow ones of a hybrid processor: reads files, once. */
void cpus_look_at_sizes(void);

/* Is @cpu one of the slow ones? Needs cpus_look_at_sizes(). */
bool cpu_is_small(int cpu);

#endif /* DROVER_CPUS_H */
