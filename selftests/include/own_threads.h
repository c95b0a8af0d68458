/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * own_threads.h - start threads, choose their CPUs, and list them
 */
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "tap.h"

/* Small, because some tests start thousands of threads. */
#define THREAD_STACK_SIZE (256 * 1024)

/* start_thread_on - @stack: memory of THREAD_STACK_SIZE, or NULL */
static inline void start_thread_on(void *stack, pthread_t *thread,
				   void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstack(&attr, stack, THREAD_STACK_SIZE);
	else
		pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE);
	MUST(pthread_create(thread, &attr, run, arg));
	pthread_attr_destroy(&attr);
}

static inline void start_thread(pthread_t *thread, void *(*run)(void *arg),
				void *arg)
{
	start_thread_on(NULL, thread, run, arg);
}

/* map_pages - zero bytes in pages of their own, shared with children */
static inline void *map_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return pages;
}

static inline pthread_t thread_of(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;

	start_thread(&thread, run, arg);
	return thread;
}

/* own_cpus - the CPUs that the caller may run on */
static inline cpu_set_t own_cpus(void)
{
	cpu_set_t all;

	MUST(sched_getaffinity(0, sizeof(all), &all));
	return all;
}

/* one_cpu - the first of these CPUs */
static inline cpu_set_t one_cpu(void)
{
	cpu_set_t one, all = own_cpus();
	int cpu = 0;

	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

/* A thread that existed before the program began: qemu-user's own. */
static pid_t emulators_thread;

#ifndef __x86_64__
__attribute__((constructor)) static void find_emulators_thread(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != getpid())
			emulators_thread = atoi(entry->d_name);
	if (dir)
		closedir(dir);
}
#endif

/* to_one_cpu - pin the caller to one CPU, and return the CPUs it had before */
static inline cpu_set_t to_one_cpu(void)
{
	cpu_set_t before = own_cpus(), one = one_cpu();

	sched_setaffinity(0, sizeof(one), &one);
	return before;
}

/* fifo_permitted - may the caller use SCHED_FIFO? */
static inline bool fifo_permitted(void)
{
	struct sched_param fifo = { .sched_priority = 1 }, other = { 0 };

	return !sched_setscheduler(0, SCHED_FIFO, &fifo) &&
	       !sched_setscheduler(0, SCHED_OTHER, &other);
}

/*
 * for_all_threads - call @function for each thread of the process, and return
 * the sum of its results
 */
static inline int for_all_threads(int (*function)(pid_t tid, const void *arg),
				  const void *arg)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int sum = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != emulators_thread)
			sum += function(atoi(entry->d_name), arg);
	if (dir)
		closedir(dir);
	return sum;
}

/*
 * any_thread - call @function for each thread of the process until a result is
 * not 0, and return the last result
 */
static inline int any_thread(int (*function)(pid_t tid, const void *arg),
			     const void *arg)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	while (dir && !found && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != emulators_thread)
			found = function(atoi(entry->d_name), arg);
	if (dir)
		closedir(dir);
	return found;
}

static inline int is_thread(pid_t tid, const void *arg)
{
	return 1;
}

/*
 * await_alone - wait until the process has one thread
 *
 * A joined thread may be in the list for a moment longer. ThreadSanitizer has a
 * thread of its own.
 */
static inline void await_alone(void)
{
#ifdef __SANITIZE_THREAD__
	const int nr = 2;
#else
	const int nr = 1;
#endif

	while (for_all_threads(is_thread, NULL) > nr)
		sched_yield();
}
