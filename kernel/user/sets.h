/* SPDX-License-Identifier: GPL-2.0-only */
/* sets.h - queued waiters, whose requeue is measured */
#ifndef DROVER_SETS_H
#define DROVER_SETS_H

#include <linux/plist.h>

#include "futex.h"

#define PAGE   4096
#define MOST   10000 /* waiters */
#define ENOUGH 64    /* waiters in one measurement */

/* How the waiters were queued: see caches.c */
enum state {
	OWN,
	OTHER,
	EVICTED,
	NR_STATES
};

/* Where the waiters move, and which others are queued among them */
enum shape {
	PLAIN,
	SAME_BUCKET,
	ONE_BYSTANDER,
	BYSTANDERS,
	PRIORITIES,
	NR_SHAPES
};

/* The waiters that one call moves from one futex to another */
struct set {
	struct futex_hash_bucket from, to, *target;
	struct futex_q **queue; /* in the order in which the waiters wait */
	int nr;
} __attribute__((aligned(PAGE)));

extern struct set sets[];
extern int nr_sets;
extern u32 words[][3]; /* of each set: from, to, and the bystanders' word */

/* Make new sets of @nr waiters each, on stacks in a random order */
void make_sets(int nr, enum shape the_shape, bool huge);
void free_sets(void);

/* Queue all waiters again. */
void prepare(enum state state);

/* Return: how many waiters of a set are not bystanders */
int nr_moved(void);

/*
 * Pin the calling thread to one CPU. Return: false if there is no other CPU, on
 * which waiters could be queued.
 */
bool choose_cpus(void);

#endif /* DROVER_SETS_H */
