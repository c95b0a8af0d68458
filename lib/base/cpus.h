/* SPDX-License-Identifier: MIT */
/* The number of CPUs that this process may use, and which of them are slow. */
#ifndef DROVER_CPUS_H
#define DROVER_CPUS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return: on how many CPUs the calling thread or the first thread of the
 * process may run, whichever number is higher, because the caller alone may be
 * pinned; but no more than the limit of the process's cgroup, rounded up, and
 * at least 1. It reads files, so it is too slow where a few microseconds
 * matter.
 */
unsigned int cpus_usable(void);

/*
 * The same for the thread @tid alone (0: the caller), with the cgroup's limit
 * as it was read last. It makes one system call and reads no file.
 */
unsigned int cpus_usable_by(pid_t tid);

/*
 * Find out which CPUs are the slow ones of a hybrid processor. Reads files,
 * once.
 */
void cpus_look_at_sizes(void);

/* Is @cpu one of the slow ones? Needs cpus_look_at_sizes(). */
bool cpu_is_small(int cpu);

#endif /* DROVER_CPUS_H */
