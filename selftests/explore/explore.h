/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explore.h - what a scenario asks of the explorer
 *
 * A scenario is a handful of threads that use the library. The explorer runs it
 * over and over, each time in another order of their steps: schedules.c says
 * how. A scenario's memory begins each time as setup() has left it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MAX_THREADS 6

/* What may happen to a thread that sleeps, besides being woken. */
enum {
	EXPIRES = 1,	/* its deadline passes, at any moment */
	INTERRUPTS = 2, /* a signal handler runs: EINTR */
	SPURIOUS = 4,	/* its futex call returns at once, or is refused */
	ANY_ORDER = 8,	/* a wake-up goes to any sleeper, not to the oldest */
	ENDS = 16, /* thread 0 ends in a wait: a handler calls pthread_exit() */
	DESTRUCTORS = 32, /* threads that end run those of the library */
	DIES = 64,	  /* the process of thread 0 is killed: dies_at() */
};

/**
 * struct scenario - threads that use the library
 * @name: how it is asked for
 * @nr_threads: how many of them begin at once
 * @nr_more: how many more a thread of the pool may make
 * @flags: EXPIRES and others
 * @policies: of DROVER_POLICY, separated by blanks
 * @setup: makes what the threads use
 * @thread: what thread @me does, from 0 on
 * @finish: looks at the end at what came of it; may be NULL
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

/* All scenarios, one after the other; NULL behind the last. */
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

/* What the memory is called in a report. */
void call_it(const void *p, size_t size, const char *name);

/*
 * The memory is given back: whoever touches it from now on is at fault, and so is
 * whoever has touched it in a way that is not ordered before this.
 */
void give_back(void *p, size_t size);

/* A step of its own, at which any thread may run next. */
void step_here(void);

/* The caller begins a wait, or has left it: from now on it must get no signal. */
void waits_now(bool waits);

/*
 * The caller is the only thread of the child of a fork, in which the @size bytes at
 * @wiped are zero. What the others do from now on happens elsewhere.
 */
void fork_here(void *wiped, size_t size);

/*
 * With DIES: thread 0 is the only one of its process, which may be killed before any
 * step at the @size bytes at @p, or asleep there, but not while its id is in @owner.
 */
void dies_at(const void *p, size_t size, const uint32_t *owner);

/* A time on the clock of the scenario, which has not come. */
struct timespec in_a_while(void);

/* The pthread_t of thread @nr. */
uintptr_t thread_handle(int nr);

/* The thread shall be cancelled, if it waits. */
void cancel_thread(int nr);
bool cancel_pending(void);
