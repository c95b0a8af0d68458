/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explore.h - what a scenario asks of the explorer
 *
 * A scenario is a handful of threads that use the library. The explorer runs it
 * over and over, each time with the threads' steps in another order:
 * schedules.c says how. Each run begins with the memory as setup() has left it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MAX_THREADS 6

/* Events that a scenario allows to happen to its threads. */
enum {
	EXPIRES = 1,	/* a deadline passes, at any moment */
	INTERRUPTS = 2, /* a signal handler runs: EINTR */
	SPURIOUS = 4,	/* a futex call returns at once, or is refused */
	ANY_ORDER = 8,	/* a wake-up goes to any sleeper, not to the oldest */
	ENDS = 16, /* thread 0 ends in a wait: a handler calls pthread_exit() */
	DESTRUCTORS = 32, /* threads that end run the library's destructors */
	DIES = 64,	  /* the process of thread 0 is killed: dies_at() */
};

/**
 * struct scenario - threads that use the library
 * @name: the name on the command line
 * @nr_threads: how many threads begin at once
 * @nr_more: how many more threads may be made
 * @flags: EXPIRES and others
 * @policies: values of DROVER_POLICY, separated by blanks
 * @setup: makes the objects that the threads use
 * @thread: run by each thread; @me counts from 0
 * @finish: checks the result at the end; may be NULL
 */
struct scenario {
	const char *name;
	int nr_threads;
	int nr_more;
	unsigned int flags;
	const char *policies;
	void (*setup)(void);
	void (*thread)(int me);
	void (*finish)(void);
};

/* Scenario number @nr of all, or NULL behind the last one. */
const struct scenario *scenario_number(int nr);

/* End the schedule: it has shown a fault. */
_Noreturn void fault(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#define expect(condition)                                              \
	do {                                                           \
		if (!(condition))                                      \
			fault("%s:%d: not so: %s", __FILE__, __LINE__, \
			      #condition);                             \
	} while (0)

/* Give the memory a name for reports. */
void call_it(const void *p, size_t size, const char *name);

/*
 * The memory is given back. From now on each access to it is a fault, and so is
 * each earlier access that is not ordered before this call.
 */
void give_back(void *p, size_t size);

/* A step without an access, at which any thread may run next. */
void step_here(void);

/*
 * The caller begins a wait, or has left it. After it has left its wait it must
 * not get a signal.
 */
void waits_now(bool waits);

/*
 * Fork, and go on in the child. The caller is its only thread, and the @size
 * bytes at @wiped are zero in it. The other threads go on in the parent, which
 * is not explored.
 */
void fork_here(void *wiped, size_t size);

/*
 * With DIES: thread 0 is the only thread of its process. The process may be
 * killed before any step of the thread at the @size bytes at @p, or while the
 * thread sleeps there, but not while the thread's id is in @owner.
 */
void dies_at(const void *p, size_t size, const uint32_t *owner);

/* A time in the future, on the clock of the scenario. */
struct timespec in_a_while(void);

/* The pthread_t of thread @nr. */
uintptr_t thread_handle(int nr);

/* Request that thread @nr is cancelled; is that requested for the caller? */
void cancel_thread(int nr);
bool cancel_pending(void);
