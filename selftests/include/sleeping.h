/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleeping.h - what the kernel shows of a thread that sleeps in futex
 *
 * /proc/<pid>/task/<tid>/syscall names the system call and its arguments once
 * the thread is off its CPU, and says "running" before that. A thread in a page
 * fault inside futex looks the same, so its state must be S as well. The state
 * is read second, so that it belongs to this sleep or a later one.
 *
 * The address is the first argument of the call in which the thread fell
 * asleep. It stays the same when the waiter is requeued, and for futex_waitv it
 * is the address of the array. After SIGSTOP and SIGCONT a wait with a relative
 * timeout goes on as restart_syscall, which has no address, so tests must not
 * use such waits.
 */
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "tap.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13 /* Linux 5.14 */
#endif
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

/*
 * Read one file of a thread into @text. Return: its length or negative errno.
 */
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

/* The state letter follows the name, in which any byte except NUL may be. */
static inline bool blocked_state_is_sleep(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end && strncmp(end, ") S", 3) == 0;
}

/**
 * struct blocked_call - the futex call in which a thread sleeps
 * @address, @op: its first two arguments. Under qemu-user on x86-64 this is a
 *		  call of the emulator, with the emulator's addresses.
 * @ends: the call has a timeout
 */
struct blocked_call {
	unsigned long long address, op;
	bool ends;
};

/* The fourth argument of futex(2) is a number if the operation is no wait. */
static inline bool blocked_has_timeout(long nr, unsigned long long op,
				       unsigned long long fourth,
				       unsigned long long fifth)
{
	if (nr == SYS_futex_wait)
		return fifth;
	if (nr == SYS_futex_waitv)
		return fourth;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return fourth;
	default:
		return true;
	}
}

/*
 * blocked_in - does the thread sleep in futex? Return: 1 or 0, or -ESRCH if the
 * thread is gone.
 */
static inline int blocked_in(pid_t pid, pid_t tid, struct blocked_call *call)
{
	unsigned long long third, fourth, fifth;
	char text[512];
	ssize_t len;
	long nr;

	len = blocked_read(pid, tid, "syscall", text, sizeof(text));
	if (len < 0)
		return len;
	if (sscanf(text, "%ld %llx %llx %llx %llx %llx", &nr, &call->address,
		   &call->op, &third, &fourth, &fifth) != 6 ||
	    (nr != SYS_futex && nr != 202 && nr != SYS_futex_waitv &&
	     nr != SYS_futex_wait))
		return 0;
	call->ends = blocked_has_timeout(nr, call->op, fourth, fifth);
	len = blocked_read(pid, tid, "stat", text, sizeof(text));
	return len < 0 ? len : blocked_state_is_sleep(text);
}

/* blocked_in_futex - the same with this address; @uaddr NULL: with any */
static inline int blocked_in_futex(pid_t pid, pid_t tid, const void *uaddr)
{
	struct blocked_call call;
	int ret = blocked_in(pid, tid, &call);

	return ret == 1 && uaddr ? call.address == (uintptr_t)uaddr : ret;
}

/*
 * sleeps_add - add the thread's sleep to a sum, which differs once the thread
 * has begun another sleep
 */
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
