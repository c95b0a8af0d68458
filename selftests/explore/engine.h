/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine.h - the inside of the explorer
 *
 * The files, from the top. A file calls only files below it. All files call
 * fault() and tell() of report.c, and fault() calls end_schedule() of fiber.c.
 *
 *	schedules.c	the program: which scenarios, how often, by how many
 *			processes; and its report
 *	one.c		one scenario under one policy: the search, the random
 *			schedules, and the shortest list of deviations
 *	libc.c		the C library's functions that the library under test
 *			calls: clocks, threads, memory
 *	world.c		the memory with which each schedule begins
 *	futex.c, pi.c	the kernel's futexes
 *	access.c	each access to memory, as the compiler tells of it
 *	memory.c	what a load may find
 *	races.c		plain accesses, and memory that was given back
 *	fiber.c		threads, and who runs next
 *	ends.c		how a thread ends in the middle
 *	choose.c	which way to go where there are several
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

/* A schedule of more steps, or of more that matter, has no end. */
#define MOST_STEPS 30000
#define MOST_TURNS 3000

/*
 * A moment of one place: the number of a message in its history; or of a
 * thread: how often it has published something. A view has one for each of
 * them: first the threads, then the places.
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
 * @view: what it knows of: it does not read anything older
 * @asleep: how it sleeps; futex.c
 * @main: what it runs, with @arg
 * @key: of the one pthread_key_t that the library has
 * @cancelled: it has been told to end
 * @exit: where it ends, if it does so in the middle
 * @top: of its stack, as far as it is unwound then
 * @nr_stays: how often it has yielded, and gone on at once
 * @waits: the library may send it signals
 * @at: where its next step is
 */
struct fiber {
	enum fiber_state state;
	jmp_buf context;
	jmp_buf base;
	char *tls;
	stamp view[VIEW];
	struct {
		uint32_t *word;
		uint32_t *began; /* where its call began */
		uint32_t bits;
		bool shared;
		bool pi;	     /* in the queue of a PI futex */
		uint32_t *target;    /* of requeue-PI */
		int64_t deadline;    /* INT64_MAX: none */
		uint64_t turn;	     /* the oldest has the least */
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

/* Steps of this schedule so far; and whether they are being told. */
extern unsigned int nr_steps;
extern bool telling;
/* Nothing is explored: the scenario is being set up, or looked at. */
extern bool quiet;

/* What a sleep returns if the thread ends in it; and if its process is killed. */
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
/* Call @function in the place of a fiber, of which only the memory is used. */
void fiber_pretend(struct fiber *f, void (*function)(void));
/* Is it memory that no other thread ever sees? And a part of any stack? */
bool fiber_owns(const void *p);
bool fiber_stack(const void *p);
/* The caller is alone from now on. */
void fiber_fork(void);
size_t fiber_tls_bytes(void);
/* For asleep.turn: after all others so far. */
uint64_t fiber_turn(void);

/* Before each step of a thread; @matters: others may notice its place in time. */
void step(bool matters);
/* Let others run, if there are any. */
void step_yield(void);
/* The caller sleeps, until somebody calls wake_up(). */
void fall_asleep(void);
void wake_up(struct fiber *f, long ret);
_Noreturn void end_schedule(void);

/* ---- ends.c ---- */

/* The caller ends, after the clean-ups of all functions that it is in. */
_Noreturn void fiber_exit(void);
/* May the process of @f be killed now? */
bool fiber_may_die(const struct fiber *f);

/* ---- choose.c ---- */

/**
 * choose() - one of @nr ways to go; 0 is the usual one
 * @kind: 's' who runs next; 'n' the same when the caller sleeps; 'r' which value
 *	  is read; 'w' who is woken; 'e' whether a system call returns early
 */
int choose(char kind, int nr);

/* A list may name any step, whatever was known to matter when it was found. */
bool choose_everywhere(void);

struct deviation {
	unsigned int step;
	char kind;
	int nth; /* of that kind in the step, from 0 on */
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
/* Before each schedule. */
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
/* Return: the value before. */
uint64_t memory_change(void *p, int size, enum change change, uint64_t by,
		       int order);
bool memory_cas(void *p, int size, uint64_t *old, uint64_t to, int order,
		int order_failed);
/* A full barrier, as the kernel has them. */
void memory_fence(void);
/* What the reader has seen, the other knows from now on. */
void memory_tell(struct fiber *to, struct fiber *from);
/* The caller knows all that anybody knows, and the newest value of everything. */
void memory_see_all(void);
/* The object at @p begins anew: nobody reads what was there before. */
void memory_renew(const void *p);
/* The latest access of fiber @nr to an atomic object at @p; 0: none. */
stamp memory_used(const void *p, int nr);

/* ---- races.c ---- */

/*
 * The caller accesses the place, and perhaps writes. Return: have several threads
 * had to do with it, in any schedule so far, and one of them written?
 */
bool memory_contended(const void *p, bool writes);
/* Set where the answer has become true for a place. */
extern bool memory_news;
void memory_forget(void);

void races_begin(void);
void plain_access(const void *p, size_t size, bool writes);
/* Fault if @p was given back. */
void check_given_back(const void *p);

/* ---- world.c ---- */

/* What each schedule begins with: as it is now. */
void world_save(void);
void world_restore(void);
/* Memory for the library: zeroed pages, and a heap. */
void *world_page(void);
void *world_alloc(size_t align, size_t size);
/* A page of which @p is a part, from 0 on, or -1. */
int world_page_of(const void *p, size_t *at);

/* ---- libc.c ---- */

extern int64_t clock_ns;
/* The calling thread ends: what the C library does then. */
void libc_end_thread(void);

/* ---- pi.c ---- */

long futex_lock_pi_call(uint32_t *word, int64_t deadline, bool shared);
long futex_unlock_pi_call(uint32_t *word);
long futex_requeue_pi_call(uint32_t *word, uint32_t value, int most,
			   uint32_t *target);

/* ---- futex.c ---- */

/* The sleepers of a word, the oldest first. Return: how many. */
int futex_sleepers(const uint32_t *word, bool shared, bool pi,
		   struct fiber **found);
/* One of them. */
struct fiber *futex_choose(struct fiber **found, int nr);
/* The caller sleeps there, as self->asleep says. Return: what it is woken with. */
long futex_sleep(uint32_t *word);
void futex_wake_one(struct fiber *f, long ret);

/* ---- report.c ---- */

void report_begin(void);
/* Tell of a step, which @pc has made. */
#define tell(...)                                 \
	do {                                      \
		if (__builtin_expect(telling, 0)) \
			tell_it(__VA_ARGS__);     \
	} while (0)
void tell_it(const void *pc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The name of an address, good until the next four are asked for. */
const char *name_of(const void *p);
void report_print(void);
extern const char *fault_text;
/* Where the library has called, for tell(). */
extern const void *caller_pc;
