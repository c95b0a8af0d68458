/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stuck.h - finds threads that sleep for ever at once, and reports them
 *
 * A thread that waits for a condition evaluates it again and again, and now and
 * then looks how the other threads sleep. If two looks in a row find every
 * other thread in the same sleep in futex, without a timeout, then all of them
 * slept at each moment in between. The condition was false in between, so no
 * other thread will ever make it true, and none will ever be woken: a wake-up
 * was lost. The looks do not guess how late a wake-up can be, so load, delays
 * and timeouts cause no false alarm.
 *
 * Two looks see the same sleep if both find the thread asleep, with the same
 * number of voluntary switches: another sleep would have begun with one more.
 *
 * A process that is a child, or has children, is not judged, because the other
 * process may share the futex words. Nothing else can end such a sleep from
 * outside the process: no test has a timer whose signal wakes a thread.
 */
#pragma once

#include <limits.h>
#include <sys/wait.h>

#include "futex_call.h"
#include "own_threads.h"
#include "sleeping.h"

/* The time between two looks. In a shorter wait there is no look. */
#define STUCK_LOOK_NS INT64_C(250000000)

/* A report shows at most so many threads, and so many words. */
#define STUCK_SHOWN 256

/**
 * struct stuck_thread - a thread in the report
 * @call: the call in which it sleeps; the address is NULL if it is not in futex
 * @sleeps: the sum of sleeps_add()
 */
struct stuck_thread {
	pid_t pid, tid;
	struct blocked_call call;
	uint64_t sleeps;
};

/**
 * struct stuck_word - a futex word in the report
 * @at: its address in the memory of @pid
 * @flags: of the calls that use it: FUTEX_PRIVATE_FLAG or 0
 */
struct stuck_word {
	pid_t pid;
	uint64_t at;
	int flags;
};

static bool stuck_own_look(uint64_t *sleeps);
static int stuck_own_list(struct stuck_thread *list);
static void stuck_report(void);

/*
 * Functions that a test may set, if not only its own threads count, or to tell
 * more in the report:
 * @look: do all threads sleep without a timeout? Adds up their sleeps
 * @list: lists these threads, at most STUCK_SHOWN. Return: how many
 * @name: the name of a thread, which follows its number
 * @describe: the object at a word
 * @mutex: the word number @nr to which sleepers may have been moved; 0 after
 *	   the last word
 */
static struct {
	bool (*look)(uint64_t *sleeps);
	int (*list)(struct stuck_thread *list);
	void (*name)(pid_t tid, char *text, size_t size);
	void (*describe)(const struct stuck_word *word, char *text,
			 size_t size);
	uint64_t (*mutex)(int nr);
} stuck = { .look = stuck_own_look, .list = stuck_own_list };

static pid_t stuck_program;

__attribute__((constructor)) static void stuck_program_starts(void)
{
	stuck_program = getpid();
	watchdog_report = stuck_report;
}

/*
 * sleeps_for_ever - does it sleep in futex without a timeout? Adds its sleep.
 */
static inline bool sleeps_for_ever(pid_t pid, pid_t tid, uint64_t *sleeps)
{
	struct blocked_call call;

	return blocked_in(pid, tid, &call) == 1 && !call.ends &&
	       sleeps_add(pid, tid, sleeps);
}

static inline bool stuck_alone(void)
{
	siginfo_t info;

	return getpid() == stuck_program &&
	       waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) <
		       0 &&
	       errno == ECHILD;
}

static inline int stuck_not_for_ever(pid_t tid, const void *sleeps)
{
	return tid != blocked_gettid() &&
	       !sleeps_for_ever(getpid(), tid, *(uint64_t *const *)sleeps);
}

static bool stuck_own_look(uint64_t *sleeps)
{
	return stuck_alone() && !any_thread(stuck_not_for_ever, &sleeps);
}

/* The wait in which this thread is. */
static _Thread_local struct {
	int64_t next;
	uint64_t sleeps; /* the sum at the last look, if all slept; or 0 */
} stuck_wait;

/*
 * stuck_child_is_alone - to be called by a child of fork() that shares no futex
 * words
 */
static inline void stuck_child_is_alone(void)
{
	stuck_program = getpid();
}

/* stuck_begin - the thread begins to wait for a condition */
static inline void stuck_begin(void)
{
	stuck_wait.next = blocked_now_ns() + STUCK_LOOK_NS;
	stuck_wait.sleeps = 0;
}

/*
 * stuck_found - will the thread's condition never be true?
 *
 * To be called each time when the whole condition has been evaluated and was
 * false. errno stays as it is. A look at thousands of threads takes long, so
 * then there are fewer looks.
 */
static inline bool stuck_found(void)
{
	uint64_t sleeps = 0, before = stuck_wait.sleeps;
	int64_t now = blocked_now_ns();
	int error = errno;

	if (now < stuck_wait.next)
		return false;
	if (!stuck.look(&sleeps))
		sleeps = 0;
	errno = error;
	stuck_wait.sleeps = sleeps;
	stuck_wait.next =
		blocked_now_ns() + STUCK_LOOK_NS + 4 * (blocked_now_ns() - now);
	return sleeps && sleeps == before;
}

/* ---- the report, which says where each thread sleeps ---- */

static inline void stuck_thread_look(struct stuck_thread *s)
{
	s->sleeps = 0;
	if (blocked_in(s->pid, s->tid, &s->call) != 1 ||
	    !sleeps_add(s->pid, s->tid, &s->sleeps))
		s->call = (struct blocked_call){ 0 };
}

struct stuck_listing {
	struct stuck_thread *list;
	int nr;
};

static inline int stuck_list_add(pid_t tid, const void *arg)
{
	struct stuck_listing *listing = *(struct stuck_listing *const *)arg;

	if (tid != blocked_gettid() && listing->nr < STUCK_SHOWN)
		listing->list[listing->nr++] =
			(struct stuck_thread){ .pid = getpid(), .tid = tid };
	return false;
}

static int stuck_own_list(struct stuck_thread *list)
{
	struct stuck_listing listing = { .list = list }, *all = &listing;

	any_thread(stuck_list_add, &all);
	return listing.nr;
}

/* stuck_read - read memory that may be gone, or is another process's */
static inline bool stuck_read(pid_t pid, uint64_t at, void *to, size_t size)
{
	char path[32];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok = fd >= 0 && pread(fd, to, size, (off_t)at) == (ssize_t)size;
	if (fd >= 0)
		close(fd);
	return ok;
}

static inline const char *stuck_describe(const struct stuck_word *word)
{
	static char text[256];
	uint32_t value;

	*text = '\0';
	if (stuck.describe)
		stuck.describe(word, text, sizeof(text));
	if (!*text && stuck_read(word->pid, word->at, &value, sizeof(value)))
		snprintf(text, sizeof(text), "a word that is %#x", value);
	else if (!*text)
		snprintf(text, sizeof(text), "memory that is gone");
	return text;
}

static inline const char *stuck_name(pid_t tid)
{
	static char text[64];

	snprintf(text, sizeof(text), "thread %d", tid);
	if (stuck.name)
		stuck.name(tid, text + strlen(text),
			   sizeof(text) - strlen(text));
	return text;
}

static inline const char *futex_op_name(unsigned long long op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return "a PI lock";
	case FUTEX_WAIT_REQUEUE_PI:
		return "a wait for requeue-PI";
	default:
		return "a wait";
	}
}

static inline struct stuck_word stuck_thread_word(const struct stuck_thread *s)
{
	return (struct stuck_word){ .pid = s->pid,
				    .at = s->call.address,
				    .flags = s->call.op & FUTEX_PRIVATE_FLAG };
}

static inline void stuck_thread_report(const struct stuck_thread *s)
{
	if (!s->call.address)
		tap_diag("%s does not sleep in futex", stuck_name(s->tid));
	else
		tap_diag("%s sleeps in %s that began at %#llx%s",
			 stuck_name(s->tid), futex_op_name(s->call.op),
			 s->call.address,
			 s->call.ends ? " and will time out" : "");
}

/*
 * A waiter that was moved to another word still shows the call that it began.
 * To find out where it sleeps, the report has to wake it, which does no more
 * harm now. First all sleepers are moved aside, from each word to a word of the
 * report's own. Then they are woken one by one: whatever a woken thread does,
 * it wakes no other sleeper.
 */
static uint32_t stuck_aside[STUCK_SHOWN];

/* Waiters for a PI lock cannot be moved aside, nor be woken. */
static inline void *stuck_put_aside(const struct stuck_word *word,
				    uint32_t *aside)
{
	void *at = (void *)(uintptr_t)word->at;

	return sys_futex(at, FUTEX_REQUEUE | word->flags, 0, INT_MAX, aside,
			 0) < 0 ?
		       at :
		       aside;
}

/* Return: the number of a thread that has left its sleep, or -1. */
static inline int stuck_moved(const struct stuck_thread *list, int nr)
{
	int64_t end = blocked_now_ns() + INT64_C(200000000);

	do {
		for (int i = 0; i < nr; i++) {
			struct stuck_thread now = list[i];

			if (!now.call.address)
				continue;
			stuck_thread_look(&now);
			if (now.sleeps != list[i].sleeps)
				return i;
		}
		sched_yield();
	} while (blocked_now_ns() < end);
	return -1;
}

/* @at: the word to which the sleepers on @word were moved */
static inline void stuck_wake_all(const struct stuck_word *word, void *at,
				  struct stuck_thread *list, int nr)
{
	for (int left = nr; left; left--) {
		int i;

		if (sys_futex_wake(at, word->flags, 1) != 1)
			break;
		i = stuck_moved(list, nr);
		tap_diag("woken on %#llx: %s", (unsigned long long)word->at,
			 i < 0 ? "a thread that is not in the list" :
				 stuck_name(list[i].tid));
		if (i >= 0)
			list[i].call.address = 0;
	}
}

static inline bool stuck_same_word(const struct stuck_word *a,
				   const struct stuck_word *b)
{
	return a->at == b->at && a->flags == b->flags;
}

/*
 * List the words on which the threads may sleep, each once, but mutexes as
 * private and as shared futexes: a moved waiter sleeps on the kind of futex
 * that its call had.
 */
static inline int stuck_words(const struct stuck_thread *list, int nr,
			      struct stuck_word *words, int most)
{
	int nr_words = 0;
	uint64_t at;

	for (int i = 0; stuck.mutex && (at = stuck.mutex(i)); i++)
		for (int flags = 0; flags <= FUTEX_PRIVATE_FLAG;
		     flags += FUTEX_PRIVATE_FLAG)
			if (nr_words < most)
				words[nr_words++] =
					(struct stuck_word){ getpid(), at,
							     flags };
	for (int i = 0; i < nr; i++) {
		struct stuck_word word = stuck_thread_word(&list[i]);
		int known = 0;

		while (known < nr_words &&
		       !stuck_same_word(&words[known], &word))
			known++;
		if (word.at && known == nr_words && nr_words < most)
			words[nr_words++] = word;
	}
	return nr_words;
}

static inline void stuck_words_report(const struct stuck_word *words, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!i || words[i].at != words[i - 1].at)
			tap_diag("%#llx: %s", (unsigned long long)words[i].at,
				 stuck_describe(&words[i]));
}

/* stuck_report - print the report; the program cannot go on afterwards */
static void stuck_report(void)
{
	static struct stuck_word words[STUCK_SHOWN];
	static struct stuck_thread list[STUCK_SHOWN];
	static void *at[STUCK_SHOWN];
	int nr = stuck.list(list), nr_words;

	for (int i = 0; i < nr; i++) {
		stuck_thread_look(&list[i]);
		stuck_thread_report(&list[i]);
	}
	nr_words = stuck_words(list, nr, words, STUCK_SHOWN);
	stuck_words_report(words, nr_words);
	for (int i = 0; i < nr_words; i++)
		at[i] = stuck_put_aside(&words[i], &stuck_aside[i]);
	for (int i = 0; i < nr_words; i++)
		stuck_wake_all(&words[i], at[i], list, nr);
	fflush(stdout);
}
