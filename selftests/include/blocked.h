/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocked.h - wait until the kernel shows a thread asleep in futex
 *
 * /proc/<pid>/task/<tid>/syscall names the system call and its arguments
 * once the thread is off its CPU, and "running" before that. A thread in a
 * page fault inside futex looks the same, so its state must be S as well;
 * it is read second, so that it belongs to this sleep or a later one.
 *
 * The address is the first argument of the call that put the thread to
 * sleep: it stays when the waiter is requeued, and for futex_waitv it is the
 * address of the array. After SIGSTOP and SIGCONT a wait with a relative
 * timeout goes on as restart_syscall, which has no address: avoid those.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "tap.h"

/* Of thousands of threads. */
#define THREAD_STACK_SIZE (256 * 1024)

/* @stack: of that size, or NULL */
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

static inline void *joined(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	return result;
}

/* run_threads - @nr at a time, each given its number */
static inline void run_threads(int nr, void *(*run)(void *number))
{
	pthread_t threads[nr];

	for (intptr_t i = 0; i < nr; i++)
		threads[i] = thread_of(run, (void *)i);
	while (nr--)
		joined(threads[nr]);
}

/* own_cpus - those that the caller may run on */
static inline cpu_set_t own_cpus(void)
{
	cpu_set_t all;

	MUST(sched_getaffinity(0, sizeof(all), &all));
	return all;
}

/* one_cpu - the first of them */
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

/* A thread that was there before the program: qemu-user's own. */
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

/* to_one_cpu - from now on; returns where the caller might run before */
static inline cpu_set_t to_one_cpu(void)
{
	cpu_set_t before = own_cpus(), one = one_cpu();

	sched_setaffinity(0, sizeof(one), &one);
	return before;
}

/* fifo_permitted - may the caller be of SCHED_FIFO? */
static inline bool fifo_permitted(void)
{
	struct sched_param fifo = { .sched_priority = 1 }, other = { 0 };

	return !sched_setscheduler(0, SCHED_FIFO, &fifo) &&
	       !sched_setscheduler(0, SCHED_OTHER, &other);
}

/*
 * for_all_threads - call @function for each thread of the process; the sum of
 * what it returns
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

static inline int is_thread(pid_t tid, const void *arg)
{
	return 1;
}

/* A joined thread may be in the list a moment longer; ThreadSanitizer has one. */
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

/* Absolute times for timed waits */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* deadline_in - the time on @clock in @ns nanoseconds, negative: in the past */
static inline struct timespec deadline_in(clockid_t clock, int64_t ns)
{
	ns += ns_of(clock);
	return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

static inline bool deadline_passed(clockid_t clock,
				   const struct timespec *deadline)
{
	return ns_of(clock) >= deadline->tv_sec * NS_PER_S + deadline->tv_nsec;
}

/* Under emulation with a thousand threads a second is nothing. */
static int64_t blocked_patience = 60 * NS_PER_S;

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

static inline pid_t blocked_gettid(void)
{
	return syscall(SYS_gettid);
}

/* Reads one file of a thread into @text; its length, or negative errno. */
static inline ssize_t blocked_read(pid_t pid, pid_t tid, const char *file,
				   char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	len = read(fd, text, size - 1);
	if (len < 0)
		len = -errno;
	else
		text[len] = '\0';
	close(fd);
	return len;
}

/* The state letter follows the name, which may contain anything but NUL. */
static inline bool blocked_state_is_sleep(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end && strncmp(end, ") S", 3) == 0;
}

/**
 * struct blocked_call - the call in futex that a thread sleeps in: its first two
 * arguments. Under qemu-user on x86-64 it is the emulator's, of its addresses.
 */
struct blocked_call {
	unsigned long long address, op;
};

/* blocked_in - is there one? Returns 1 or 0, or -ESRCH when the thread is gone. */
static inline int blocked_in(pid_t pid, pid_t tid, struct blocked_call *call)
{
	char text[512];
	ssize_t len;
	long nr;

	len = blocked_read(pid, tid, "syscall", text, sizeof(text));
	if (len < 0)
		return len;
	if (sscanf(text, "%ld 0x%llx 0x%llx", &nr, &call->address, &call->op) !=
		    3 ||
	    (nr != SYS_futex && nr != 202 && nr != SYS_futex_waitv &&
	     nr != SYS_futex_wait))
		return 0;
	len = blocked_read(pid, tid, "stat", text, sizeof(text));
	return len < 0 ? len : blocked_state_is_sleep(text);
}

/* blocked_in_futex - the same; @uaddr: with this address, or NULL for any */
static inline int blocked_in_futex(pid_t pid, pid_t tid, const void *uaddr)
{
	struct blocked_call call;
	int ret = blocked_in(pid, tid, &call);

	return ret == 1 && uaddr ? call.address == (uintptr_t)uaddr : ret;
}

/* Of the time on the wall, what this thread has not seen pass, see below. */
static _Thread_local int64_t blocked_seen, blocked_unseen;

/* blocked_deadline - the moment at which waiting becomes a failure */
static inline int64_t blocked_deadline(void)
{
	blocked_seen = blocked_now_ns();
	return blocked_seen - blocked_unseen + blocked_patience;
}

/*
 * blocked_over - has a blocked_deadline() passed? To be asked all the time: if
 * this thread comes back after seconds only, the process was stopped or had no
 * CPU, and nobody else could do anything either. That time does not count.
 */
static inline bool blocked_over(int64_t deadline)
{
	int64_t now = blocked_now_ns();

	if (now > blocked_seen + NS_PER_S)
		blocked_unseen += now - blocked_seen;
	blocked_seen = now;
	return now - blocked_unseen > deadline;
}

/* wait_until - yield until @condition; what never comes ends the program */
#define wait_until(condition, ...)                                             \
	for (int64_t until_ = blocked_deadline(); !(condition); sched_yield()) \
		if (blocked_over(until_))                                      \
	tap_bail(__VA_ARGS__)

/* wait_blocked - until blocked_in_futex(); 0, -ETIMEDOUT, or -ESRCH */
static inline int wait_blocked(pid_t pid, pid_t tid, const void *uaddr)
{
	int64_t deadline = blocked_deadline();
	int ret;

	while (!(ret = blocked_in_futex(pid, tid, uaddr))) {
		if (blocked_over(deadline))
			return -ETIMEDOUT;
		sched_yield();
	}
	return ret > 0 ? 0 : ret;
}

/* reached - until others have counted up to @value; wait_at_least - and 0 */
#define reached(count, value)	    reached_or_bail(count, value, #count)
#define wait_at_least(count, value) (reached(count, value), 0)

static inline void reached_or_bail(atomic_int *count, int value,
				   const char *name)
{
	wait_until(atomic_load(count) >= value, "%s: %d, never %d", name,
		   atomic_load(count), value);
}

/* asleep_on - on a futex, or NULL; @tid: 0 until it is known */
static inline void asleep_on(atomic_int *tid, const void *uaddr)
{
	reached(tid, 1);
	if (wait_blocked(getpid(), *tid, uaddr))
		tap_bail("a thread that should wait does not");
}

/* asleep - and who never sleeps, too */
static inline void asleep(pid_t tid)
{
	asleep_on(&(atomic_int){ tid }, NULL);
}

/*
 * Stop waiting threads before they can look for their wake-up: a signal handler
 * keeps them from hold_off() to hold_off_end(), as an unlucky scheduler would.
 */

static atomic_int nr_held_off, nr_let_go;
static atomic_bool holding_off;

static inline void hold_off_here(int signal)
{
	nr_held_off++;
	while (holding_off)
		sched_yield();
	nr_let_go++;
}

/* hold_off_soon - @thread goes there when it runs, unless it ends before */
static inline void hold_off_soon(pthread_t thread)
{
	signal(SIGUSR2, hold_off_here);
	holding_off = true;
	pthread_kill(thread, SIGUSR2);
}

/* hold_off - @thread is in the handler when this returns */
static inline void hold_off(pthread_t thread)
{
	int nr = nr_held_off;

	hold_off_soon(thread);
	reached(&nr_held_off, nr + 1);
}

/* hold_off_end - let all @nr go on */
static inline void hold_off_end(int nr)
{
	holding_off = false;
	reached(&nr_let_go, nr);
	nr_held_off = 0;
	nr_let_go = 0;
}

/*
 * Are several threads asleep at the same moment? When all of a process sleep,
 * without timeouts and with nobody outside to wake them, none of them will ever
 * run again by itself. That tells a lost wakeup from a late one, without guessing
 * how long late can be.
 *
 * Each thread is asked twice. One that sleeps both times, and has not given up
 * its CPU in between, has slept all the time. If that is so of all, they all
 * slept at the end of the first round.
 */

/* sleeps_add - to a sum that changes whenever a thread begins another sleep */
static inline bool sleeps_add(pid_t pid, pid_t tid, uint64_t *sleeps)
{
	static const char switches[] = "\nvoluntary_ctxt_switches:";
	char text[4096], *state, *count;

	if (blocked_read(pid, tid, "status", text, sizeof(text)) < 0)
		return false;
	state = strstr(text, "\nState:\t");
	count = strstr(text, switches);
	if (!state || !count || !strchr("St", state[8]))
		return false;
	*sleeps += (uint64_t)tid << 32;
	*sleeps += strtoull(count + sizeof(switches) - 1, NULL, 10);
	return true;
}
