/* SPDX-License-Identifier: GPL-2.0-only */
/* sets.h - waiters that are queued as a measurement of their requeue needs it */
#ifndef DROVER_SETS_H
#define DROVER_SETS_H

#include <linux/plist.h>

#include "futex.h"

#define PAGE   4096
#define MOST   10000 /* waiters */
#define ENOUGH 64    /* waiters in one measurement */

/* How they were queued */
enum state {
	OWN,
	OTHER,
	EVICTED,
	NR_STATES
};

/* Where they move, and what is queued among them */
enum shape {
	PLAIN,
	SAME_BUCKET,
	ONE_BYSTANDER,
	BYSTANDERS,
	PRIORITIES,
	NR_SHAPES
};

/* What a call moves: waiters of one futex to another one */
struct set {
	struct futex_hash_bucket from, to, *target;
	struct futex_q **queue; /* in the order in which they wait */
	int nr;
} __attribute__((aligned(PAGE)));

extern struct set sets[];
extern int nr_sets;
extern u32 words[][3]; /* from, to, and that of the bystanders */

/* New sets of so many waiters, on stacks in an order of their own */
void make_sets(int nr, enum shape the_shape, bool huge);
void free_sets(void);

/* All are queued anew. */
void prepare(enum state state);

/* How many of a set are no bystanders */
int nr_moved(void);

/*
 * The thread that calls runs on one CPU from then on. False if there is no other
 * one, on which waiters could be queued.
 */
bool choose_cpus(void);

#endif /* DROVER_SETS_H */
