/* SPDX-License-Identifier: MIT */
/*
 * For programs that get stuck on purpose. Another process watches such a
 * program, and prints a line when it is stuck: all threads sleep, and stay so.
 */
#ifndef WHY_STUCK_H
#define WHY_STUCK_H

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                         \
	do {                                \
		if (!(call)) {              \
			perror(#call);      \
			exit(EXIT_FAILURE); \
		}                           \
	} while (0)

/* In shared memory: the data for the watching process. */
struct watched {
	atomic_int pid;	   /* of the process that gets stuck */
	atomic_int asleep; /* so many threads will sleep when it is stuck */
};

static struct watched *watched;

/* Does a thread sleep? Adds to @switches how often it has gone to sleep. */
static inline bool sleeps(int pid, const char *tid, unsigned long *switches)
{
	char path[300], line[200], state = '?';
	unsigned long count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %lu", &count);
	}
	fclose(file);
	*switches += count;
	return state == 'S';
}

/* How many threads of a process sleep. */
static inline int nr_asleep(int pid, unsigned long *switches)
{
	char path[80];
	struct dirent *entry;
	int nr = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			nr += sleeps(pid, entry->d_name, switches);
	if (folder)
		closedir(folder);
	return nr;
}

/* The watching process runs this. */
static inline void wait_asleep(int pid, int nr, int parent)
{
	unsigned long before, now = 0;
	int same = 0;

	while (same < 3 && getppid() == parent) {
		before = now;
		now = 0;
		same = nr_asleep(pid, &now) == nr && now == before ? same + 1 :
								     0;
		sched_yield();
	}
}

/* Begin to watch; call this before there are threads. */
static inline void watch(void)
{
	int parent = getpid();

	watched = mmap(NULL, sizeof(*watched), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(watched != MAP_FAILED);
	if (fork())
		return;
	while (!atomic_load(&watched->asleep) && getppid() == parent)
		sched_yield();
	wait_asleep(atomic_load(&watched->pid), atomic_load(&watched->asleep),
		    parent);
	printf("stuck %d\n", atomic_load(&watched->pid));
	fflush(stdout);
	_exit(0);
}

/* Call this when @nr threads will soon sleep, and the rest does not matter. */
static inline void soon_stuck(int nr)
{
	atomic_store(&watched->pid, getpid());
	atomic_store(&watched->asleep, nr);
}

/* Wait until a thread of this process sleeps. */
static inline void wait_sleeps(atomic_int *tid)
{
	unsigned long before, now = 0;
	char name[12];

	while (!atomic_load(tid))
		sched_yield();
	snprintf(name, sizeof(name), "%d", atomic_load(tid));
	do {
		before = now;
		now = 0;
		sched_yield();
	} while (!sleeps(getpid(), name, &now) || now != before);
}

static inline int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static inline pthread_t start(void *(*function)(void *), void *arg,
			      const char *name)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, function, arg));
	pthread_setname_np(thread, name);
	return thread;
}

#endif /* WHY_STUCK_H */
