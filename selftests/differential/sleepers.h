/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleepers.h - the waiters: threads, and requests of io_uring
 *
 * A thread that has nothing to do sleeps on a futex of its own, `go`. So the
 * kernel shows the state of a thread: if it sleeps on `go`, it has published
 * the result of its last wait; if it sleeps in another call, it waits; if it
 * does not sleep, the caller has to wait for it.
 *
 * The thread that makes the calls has the weakest scheduling class, and all
 * threads share one CPU, so a thread that it wakes runs at once. This makes the
 * test fast, but the answers do not depend on it.
 */
#pragma once

#include "calls.h"
#include "ring.h"

/* The last two threads have real-time priorities, which differ. */
#define FIRST_REAL_TIME 6
#define STEP_SECONDS	1000

struct thread {
	pthread_t thread;
	atomic_int tid; /* 0 until it runs */
	int fd;		/* the thread's syscall file in /proc */
	bool busy;
	struct wait wait;
	struct futex_waitv vector[2];
	uint32_t go;
	long result;
	int unlocked; /* the answer when it gave the PI futex back */
};

struct slot {
	bool busy;
	struct wait wait;
	struct futex_waitv vector[2];
};

#define CANCEL_ID 100

static struct thread threads[NR_THREADS];
static struct slot slots[NR_SLOTS];
static struct ring ring;

/* Timed waits end when time_passes() puts the clock forward. */
static struct timespec deadline;

static void on_signal(int signal)
{
}

static void fill_vector(struct futex_waitv *vector, const struct wait *wait)
{
	const struct place *at[2] = { wait->at, wait->other };

	for (int i = 0; i < 2; i++)
		vector[i] = (struct futex_waitv){
			.uaddr = (uintptr_t)at[i]->addr,
			.val = wait->val,
			.flags = FUTEX2_SIZE_U32 | at[i]->flags,
		};
}

static long do_wait(struct thread *t)
{
	const struct wait *wait = &t->wait;
	const struct timespec *until = wait->timed ? &deadline : NULL;
	int flags = wait->at->flags | FUTEX_CLOCK_REALTIME;

	switch (wait->kind) {
	case WAIT_PLAIN:
		return sys_futex(wait->at->addr, FUTEX_WAIT_BITSET | flags,
				 wait->val, (uintptr_t)until, NULL,
				 wait->bitset);
	case WAIT_VECTOR:
		fill_vector(t->vector, wait);
		return sys_result(syscall(SYS_futex_waitv, t->vector, 2, 0,
					  until, CLOCK_REALTIME));
	case WAIT_REQUEUE_PI:
		return sys_futex(wait->at->addr, FUTEX_WAIT_REQUEUE_PI | flags,
				 wait->val, (uintptr_t)until, wait->other->addr,
				 0);
	case WAIT_LOCK_PI:
		return sys_futex_lock_pi(wait->at->addr, wait->at->flags,
					 until);
	}
	return -ENOSYS;
}

static void *thread_run(void *arg)
{
	struct thread *t = arg;
	const struct place *pi;
	uint32_t seen = 0;

	t->tid = blocked_gettid();
	for (;;) {
		while (__atomic_load_n(&t->go, __ATOMIC_ACQUIRE) == seen)
			sys_futex_wait(&t->go, FUTEX_PRIVATE_FLAG, seen, NULL);
		seen++;
		t->result = do_wait(t);
		t->unlocked = 0;
		pi = t->wait.kind == WAIT_LOCK_PI ? t->wait.at : t->wait.other;
		/* A thread that got a PI futex gives it back. */
		if (!t->result && t->wait.kind >= WAIT_REQUEUE_PI)
			t->unlocked = sys_futex_unlock_pi(pi->addr, pi->flags);
	}
	return NULL;
}

static void thread_start(struct thread *t, int priority)
{
	const struct sched_param param = { .sched_priority = priority };
	char path[64];

	start_thread(&t->thread, thread_run, t);
	MUST(pthread_setschedparam(
		t->thread, priority ? SCHED_FIFO : SCHED_OTHER, &param));
	reached(&t->tid, 1);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", t->tid);
	t->fd = open(path, O_RDONLY);
	if (t->fd < 0)
		tap_bail("%s: %s", path, strerror(errno));
}

static void set_deadline(void)
{
	deadline = deadline_in(CLOCK_REALTIME, STEP_SECONDS / 2 * NS_PER_S);
}

static void sleepers_start(void)
{
	const struct sched_param none = { .sched_priority = 0 };
	struct sigaction action = { .sa_handler = on_signal };
	int err;

	to_one_cpu();
	MUST(sched_setscheduler(0, SCHED_IDLE, &none));
	MUST(mlockall(MCL_CURRENT | MCL_FUTURE));
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		thread_start(&threads[i],
			     i < FIRST_REAL_TIME ? 0 : 1 + i - FIRST_REAL_TIME);
	err = ring_open(&ring);
	if (err)
		tap_bail("io_uring: %s", strerror(-err));
	set_deadline();
}

static int own_number(pid_t tid)
{
	for (int i = 0; i < NR_THREADS; i++)
		if (threads[i].tid == tid)
			return i;
	return -1;
}

/* Return: the first free thread or slot from @from on, in turn; -1: none. */
static int thread_free(int from)
{
	for (int i = from; i < from + NR_THREADS; i++)
		if (!threads[i % NR_THREADS].busy)
			return i % NR_THREADS;
	return -1;
}

static int slot_free(int from)
{
	for (int i = from; i < from + NR_SLOTS; i++)
		if (!slots[i % NR_SLOTS].busy)
			return i % NR_SLOTS;
	return -1;
}

static int nr_asleep(void)
{
	int nr = 0;

	for (int i = 0; i < NR_THREADS; i++)
		nr += threads[i].busy;
	return nr;
}

/*
 * Let the other threads run; the caller then looks at their state again. A
 * yield is not enough: the caller has a real-time priority while it has a PI
 * futex for which a real-time thread waits.
 */
static void stand_back(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL);
}

/*
 * Wait until this thread sleeps. Return: is its wait over?
 *
 * The memory is locked, so a thread cannot sleep in a page fault.
 */
static bool is_over(struct thread *t)
{
	int64_t end = 0;

	for (;;) {
		unsigned long long first;
		char text[256];
		ssize_t len = pread(t->fd, text, sizeof(text) - 1, 0);
		long nr;

		if (len <= 0)
			tap_bail("a thread's syscall file: %s",
				 strerror(errno));
		text[len] = '\0';
		if (sscanf(text, "%ld 0x%llx", &nr, &first) == 2)
			return first == (uintptr_t)&t->go;
		if (!end)
			end = blocked_deadline();
		else if (blocked_now_ns() > end)
			tap_bail("a thread runs for ever");
		stand_back();
	}
}

static void count_end(const struct wait *wait, long result)
{
	if (result == -ETIMEDOUT)
		counts[NR_TIMED_OUT]++;
	else if (result == -EINTR || result == -ECANCELED)
		counts[NR_INTERRUPTED]++;
	else if (result >= 0)
		counts[wait->kind == WAIT_VECTOR ? NR_VECTORS : NR_WOKEN]++;
}

static int settle_ring(void)
{
	int nr_over = 0, result;
	uint64_t id;

	while (ring_next(&ring, &id, &result)) {
		note("  request %d: %d", (int)id, result);
		if (id >= CANCEL_ID)
			continue;
		count_end(&slots[id].wait, result);
		if (result >= 0)
			counts[NR_RING]++;
		slots[id].busy = false;
		nr_over++;
	}
	return nr_over;
}

static void note_over(struct thread *t)
{
	note("  thread %d: %ld %d", (int)(t - threads), t->result, t->unlocked);
	count_end(&t->wait, t->result);
	t->busy = false;
}

/*
 * Wait until all threads sleep that still wait. Note and count the waits that
 * are over.
 */
static int settle(void)
{
	bool over[NR_THREADS] = { false }, more = true;
	int nr_over = 0;

	/* A thread that gives a PI futex back may end the wait of another. */
	while (more) {
		more = false;
		for (int i = 0; i < NR_THREADS; i++)
			if (threads[i].busy && !over[i] && is_over(&threads[i]))
				over[i] = more = true;
	}
	for (int i = 0; i < NR_THREADS; i++) {
		if (!over[i])
			continue;
		note_over(&threads[i]);
		nr_over++;
	}
	return nr_over + settle_ring();
}

/* Begin a wait in a thread, until the thread sleeps or the wait is over. */
static void thread_wait(int thread, const struct wait *wait)
{
	struct thread *t = &threads[thread];

	counts[NR_CALLS]++;
	t->wait = *wait;
	t->busy = true;
	__atomic_add_fetch(&t->go, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&t->go, FUTEX_PRIVATE_FLAG, 1);
	if (wait->kind >= WAIT_REQUEUE_PI)
		settle();
	else if (is_over(t))
		note_over(t);
}

static void slot_submit(const struct io_uring_sqe *sqe)
{
	long ret = ring_submit(&ring, sqe);

	if (ret != 1)
		tap_bail("io_uring_enter: %s", strerror(-ret));
	settle();
}

static void slot_wait(int slot, const struct wait *wait)
{
	struct slot *s = &slots[slot];
	struct io_uring_sqe sqe = { .user_data = slot };

	counts[NR_CALLS]++;
	s->wait = *wait;
	s->busy = true;
	if (wait->kind == WAIT_VECTOR) {
		fill_vector(s->vector, wait);
		sqe.opcode = RING_OP_FUTEX_WAITV;
		sqe.addr = (uintptr_t)s->vector;
		sqe.len = 2;
	} else {
		sqe.opcode = RING_OP_FUTEX_WAIT;
		sqe.fd = FUTEX2_SIZE_U32 | wait->at->flags;
		sqe.addr = (uintptr_t)wait->at->addr;
		sqe.addr2 = wait->val;
		/* addr3, which Debian 11 has no name for */
		((uint64_t *)&sqe)[6] = wait->bitset;
	}
	slot_submit(&sqe);
}

/* End a wait by a signal. A wait for a PI futex would only go on after it. */
static void thread_signal(int thread, bool restart)
{
	struct thread *t = &threads[thread];

	if (!t->busy || t->wait.kind >= WAIT_REQUEUE_PI)
		return;
	note("signal to thread %d%s", thread, restart ? ", restarts" : "");
	pthread_kill(t->thread, restart ? SIGUSR2 : SIGUSR1);
	settle();
}

static void slot_cancel(int slot)
{
	if (!slots[slot].busy)
		return;
	note("cancel request %d", slot);
	slot_submit(&(struct io_uring_sqe){ .opcode = IORING_OP_ASYNC_CANCEL,
					    .fd = -1,
					    .addr = slot,
					    .user_data = CANCEL_ID + slot });
}

/* All deadlines pass. The threads notice that one after the other. */
static void time_passes(void)
{
	struct timespec now =
		deadline_in(CLOCK_REALTIME, STEP_SECONDS * NS_PER_S);
	int64_t end = blocked_deadline();

	note("time passes");
	MUST(clock_settime(CLOCK_REALTIME, &now));
	for (int i = 0; i < NR_THREADS; i++)
		while (threads[i].busy && threads[i].wait.timed &&
		       !is_over(&threads[i])) {
			if (blocked_now_ns() > end)
				tap_bail("a wait goes on after its deadline");
			stand_back();
		}
	settle();
	set_deadline();
}
