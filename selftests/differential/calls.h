/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calls.h - what the parts of the differential test share; see main.c
 */
#pragma once

#include "run.h"
#include "futex_call.h"

/* Each line says what happened. It is shown, or goes into the digest. */
static uint64_t digest;
static bool shown;

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (int i = 0; i < len; i++)
		digest = (digest ^ line[i]) * UINT64_C(0x100000001b3);
	if (shown)
		puts(line);
}

/* How often all sequences reached each case. Two kernels have equal counts. */
#define COUNTS(X)                                                              \
	X(CALLS, calls)		      /* futex calls of the sequences */       \
	X(BUSY_CALLS, busy_calls)     /* wakes, requeues; two or more slept */ \
	X(REQUEUES, requeues)	      /* calls that requeue */                 \
	X(MOVES, moves)		      /* of these, with an answer above 0 */   \
	X(SAME_BUCKET, same_bucket)   /* of these, within one bucket */        \
	X(PI_MET, pi_met)	      /* EINVAL for a PI waiter in line */     \
	X(PI_MET_LATER, pi_met_later) /* of these, others woken before */      \
	X(PI_BETWEEN, pi_between)     /* EINVAL, one among those to move */    \
	X(WOKEN, woken)                                                        \
	X(TIMED_OUT, timed_out)                                                \
	X(INTERRUPTED, interrupted)                                            \
	X(VECTORS, vectors) /* waits on several futexes that were woken */     \
	X(RING, ring)	    /* waits of io_uring that were woken */

#define COUNT(upper, lower) NR_##upper,
enum count {
	COUNTS(COUNT) NR_COUNTS
};

static uint64_t counts[NR_COUNTS];

/* The futexes of all sequences, see palette.h. */
struct place {
	const char *name;
	uint32_t *addr;
	int flags;  /* 0 or FUTEX_PRIVATE_FLAG */
	bool pi;    /* the word may hold a thread id */
	int bucket; /* two futexes with one number and equal flags share it */
};

enum {
	P0, /* private, in one bucket with P1 */
	P1,
	P2,
	PR, /* private, in a page that cannot be written */
	I0, /* private, for priority inheritance */
	I1,
	S0, /* shared, in a file, in one bucket with S1 */
	S1,
	S2,
	T0, /* S0 at another address */
	A0, /* shared, memory of this process alone */
	M0, /* shared, anonymous shared memory */
	PX, /* private, not mapped */
	NR_PLACES,
};

static struct place places[NR_PLACES];

/* Threads that wait, and requests of io_uring that wait: see sleepers.h. */
#define NR_THREADS 8
#define NR_SLOTS   4

enum wait_kind {
	WAIT_PLAIN,
	WAIT_VECTOR,
	WAIT_REQUEUE_PI,
	WAIT_LOCK_PI,
};

struct wait {
	enum wait_kind kind;
	const struct place *at;
	const struct place *other; /* of a vector, or the PI futex */
	uint32_t val;
	uint32_t bitset;
	bool timed;
};

/* The state of a sequence between its steps. */
struct sequence {
	uint64_t random;
	bool shared;  /* do most calls use shared futexes? */
	bool pi;      /* do some calls use priority inheritance? */
	bool held[2]; /* has this thread I0, I1? */
};

static const int private_places[] = {
	P0, P0, P0, P0, P1, P1, P1, P2, P2, PR, PX
};
static const int shared_places[] = { S0, S0, S0, S1, S1, S1,
				     S2, S2, T0, T0, A0, M0 };

#define ONE_OF(s, array)  ((array)[random_below(&(s)->random, NR_OF(array))])
#define ONE_IN(s, number) (random_below(&(s)->random, number) == 0)

static inline const struct place *pick(struct sequence *s, bool shared)
{
	if (shared)
		return &places[ONE_OF(s, shared_places)];
	if (s->pi && ONE_IN(s, 6))
		return &places[I0 + random_below(&s->random, 2)];
	return &places[ONE_OF(s, private_places)];
}

static inline bool pick_shared(struct sequence *s)
{
	return ONE_IN(s, 16) ? !s->shared : s->shared;
}

static inline int pick_count(struct sequence *s)
{
	static const int odd[] = { -1, INT_MIN, INT_MAX - 1, 7, 100 };

	switch (random_below(&s->random, 16)) {
	case 0:
		return ONE_OF(s, odd);
	case 1 ... 5:
		return INT_MAX;
	default:
		return random_below(&s->random, 4);
	}
}

static inline uint32_t value_at(const struct place *place)
{
	return place == &places[PX] ?
		       0 :
		       __atomic_load_n(place->addr, __ATOMIC_RELAXED);
}
