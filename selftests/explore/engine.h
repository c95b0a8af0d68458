/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine.h - the inside of the explorer
 *
 * The files from the top down. A file calls only files below it, with two
 * exceptions: all files call fault() and tell() of report.c, and fault() calls
 * end_schedule() of fiber.c.
 *
 *	schedules.c	the program: which scenarios, how often, by how many
 *			processes; and its report
 *	one.c		one scenario under one policy: the search, the random
 *			schedules, and the shortest list of deviations
 *	libc.c		the C library's functions that the library under test
 *			calls: clocks, threads, memory
 *	world.c		the memory with which each schedule begins
 *	futex.c, pi.c	the kernel's futexes
 *	access.c	each access to memory: the compiler adds the calls
 *	memory.c	the values that a load may find
 *	races.c		plain accesses, and memory that was given back
 *	fiber.c		threads, and which one runs next
 *	ends.c		how a thread ends in the middle
 *	choose.c	the way to go where there are several
 *	report.c	a schedule in words
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"

/* Atomic objects that one schedule may touch. */
#define MAX_PLACES 700
#define VIEW	   (MAX_THREADS + MAX_PLACES)

/* A schedule with more steps, or more steps that matter, counts as endless. */
#define MOST_STEPS 30000
#define MOST_TURNS 3000

/*
 * A moment in the life of a place is the number of a message in its history. A
 * moment in the life of a thread is how often it has published something. A
 * view has a stamp for each: first the threads, then the places.
 */
typedef uint16_t stamp;

enum fiber_state {
	UNUSED,
	RUNNING,
	ASLEEP,
	ENDED,
};

/**
 * struct fiber - a thread under exploration
 * @state: see above
 * @context: where it goes on
 * @base: where it begins, once per schedule
 * @tls: its thread-local variables, while it does not run
 * @view: what it knows: it reads nothing older
 * @asleep: how it sleeps; see futex.c
 * @main: the function that it runs, with @arg
 * @key: its value of the one pthread_key_t that the library has
 * @cancelled: its cancellation is requested
 * @exit: where it goes on if it ends in the middle
 * @top: the frame up to which its stack is then unwound
 * @nr_stays: how often it has yielded and gone on at once
 * @waits: the library may send it signals
 * @at: the address that its next step accesses
 */
struct fiber {
	enum fiber_state state;
	jmp_buf context;
	jmp_buf base;
	char *tls;
	stamp view[VIEW];
	struct {
		uint32_t *word;
		uint32_t *began; /* the word on which the call began */
		uint32_t bits;
		bool shared;
		bool pi;	     /* in the queue of a PI futex */
		uint32_t *target;    /* of requeue-PI */
		int64_t deadline;    /* INT64_MAX: none */
		uint64_t turn;	     /* the oldest sleeper has the least */
		struct fiber *joins; /* it waits for the end of this one */
		long ret;
	} asleep;
	void *(*main)(void *arg);
	void *arg;
	void *result;
	void *key;
	bool cancelled;
	jmp_buf exit;
	char *top;
	int nr_stays;
	bool waits;
	const char *at;
};

extern struct fiber fibers[MAX_THREADS];
extern struct fiber *self;
extern const struct scenario *scenario;

/* Steps of this schedule so far, and whether each is recorded in words. */
extern unsigned int nr_steps;
extern bool telling;
/* Nothing is explored now: the scenario is being set up or checked. */
extern bool quiet;

/* Results of a sleep in which the thread ends, or its process is killed. */
#define THREAD_ENDS  (-0x10000L)
#define PROCESS_DIES (-0x10001L)

/* The id of thread 0 in the kernel. */
#define FIRST_TID 1000

#define nr_of(fiber) ((int)((fiber)-fibers))

/* ---- schedules.c, one.c ---- */

int explore_one(const struct scenario *of, unsigned int bound,
		unsigned long nr_random, double seconds, uint64_t seed,
		const char *replay);

/* ---- fiber.c ---- */

void fibers_make(void);
/* Run all fibers until they have ended. Return: false if there was a fault. */
bool fibers_run(void);
/* A new fiber that calls @main; NULL if there are too many. */
struct fiber *fiber_start(void *(*main)(void *), void *arg);
/* Call @function on this stack, with the thread-local variables of @f. */
void fiber_pretend(struct fiber *f, void (*function)(void));
/* Is @p memory that no other thread ever sees? Is @p on any fiber's stack? */
bool fiber_owns(const void *p);
bool fiber_stack(const void *p);
/* End all other fibers. */
void fiber_fork(void);
size_t fiber_tls_bytes(void);
/* A new number for asleep.turn, greater than all so far. */
uint64_t fiber_turn(void);

/*
 * Called before each step of a thread. @matters: other threads may notice when
 * the step is made.
 */
void step(bool matters);
/* Let other threads run, if any can. */
void step_yield(void);
/* The caller sleeps until wake_up() is called for it. */
void fall_asleep(void);
void wake_up(struct fiber *f, long ret);
_Noreturn void end_schedule(void);

/* ---- ends.c ---- */

/* End the caller, after the clean-ups of all functions that it is in. */
_Noreturn void fiber_exit(void);
/* May the process of @f be killed now? */
bool fiber_may_die(const struct fiber *f);

/* ---- choose.c ---- */

/**
 * choose() - choose one of @nr ways to go; 0 is the usual one
 * @kind: 's': which thread runs next; 'n': the same, if the caller sleeps;
 *	  'r': which value is read; 'w': which thread is woken;
 *	  'e': does a system call return early, and how
 */
int choose(char kind, int nr);

/*
 * Is there a choice even at steps that do not matter? There is for a list: it
 * may have been found when more steps were known to matter.
 */
bool choose_everywhere(void);

struct deviation {
	unsigned int step;
	char kind;
	int nth; /* number among the step's choices of that kind, from 0 */
	int way;
};
#define MAX_DEVIATIONS 512
extern struct deviation deviations[MAX_DEVIATIONS];
extern int nr_deviations;

void choose_search(unsigned int bound);
/* Return: false if there is no schedule left. */
bool choose_next(void);
void choose_random(uint64_t seed);
void choose_listed(const struct deviation *list, int nr);
/* Called before each schedule. */
void choose_begin(void);

/* ---- memory.c ---- */

enum change {
	SWAP,
	ADD,
	AND,
	OR,
	XOR
};

void memory_begin(void);
uint64_t memory_load(void *p, int size, int order);
void memory_store(void *p, int size, uint64_t value, int order);
/* Return: the value before the change. */
uint64_t memory_change(void *p, int size, enum change change, uint64_t by,
		       int order);
bool memory_cas(void *p, int size, uint64_t *old, uint64_t to, int order,
		int order_failed);
/* A full barrier, like the kernel's. */
void memory_fence(void);
/* From now on @to knows everything that @from knows. */
void memory_tell(struct fiber *to, struct fiber *from);
/* From now on the caller knows what any thread knows, and all newest values. */
void memory_see_all(void);
/* The object at @p begins anew: no thread reads older values any more. */
void memory_renew(const void *p);
/* The latest access of fiber @nr to an atomic object at @p; 0: none. */
stamp memory_used(const void *p, int nr);

/* ---- races.c ---- */

/*
 * The caller accesses the place, and perhaps writes. Return: have several
 * threads accessed the place in the schedules so far, and has one of them
 * written?
 */
bool memory_contended(const void *p, bool writes);
/* Set when memory_contended() returns true for a place for the first time. */
extern bool memory_news;
void memory_forget(void);

void races_begin(void);
void plain_access(const void *p, size_t size, bool writes);
/* Fault if @p was given back. */
void check_given_back(const void *p);

/* ---- world.c ---- */

/* Save the memory, and restore it before each schedule. */
void world_save(void);
void world_restore(void);
/* Memory for the library: zeroed pages, and a heap. */
void *world_page(void);
void *world_alloc(size_t align, size_t size);
/* The number of the page of @p, from 0 on, or -1; @at: the offset in it. */
int world_page_of(const void *p, size_t *at);

/* ---- libc.c ---- */

extern int64_t clock_ns;
/* Do what the C library does when the calling thread ends. */
void libc_end_thread(void);

/* ---- pi.c ---- */

long futex_lock_pi_call(uint32_t *word, int64_t deadline, bool shared);
long futex_unlock_pi_call(uint32_t *word);
long futex_requeue_pi_call(uint32_t *word, uint32_t value, int most,
			   uint32_t *target);

/* ---- futex.c ---- */

/* Find the sleepers of a word, the oldest first. Return: how many. */
int futex_sleepers(const uint32_t *word, bool shared, bool pi,
		   struct fiber **found);
/* Choose one of the sleepers. */
struct fiber *futex_choose(struct fiber **found, int nr);
/*
 * The caller sleeps on @word, as self->asleep says. Return: the call's result.
 */
long futex_sleep(uint32_t *word);
void futex_wake_one(struct fiber *f, long ret);

/* ---- report.c ---- */

void report_begin(void);
/* Record a step that the code at a pc has made, if steps are recorded. */
#define tell(...)                                 \
	do {                                      \
		if (__builtin_expect(telling, 0)) \
			tell_it(__VA_ARGS__);     \
	} while (0)
void tell_it(const void *pc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The name of an address; the fourth call after this overwrites it. */
const char *name_of(const void *p);
void report_print(void);
extern const char *fault_text;
/* The address from which the library has called, for tell(). */
extern const void *caller_pc;
