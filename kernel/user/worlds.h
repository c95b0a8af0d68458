/* SPDX-License-Identifier: GPL-2.0-only */
/* worlds.h - queues of waiters in two implementations, driven alike */
#ifndef DROVER_WORLDS_H
#define DROVER_WORLDS_H

#define NR_WAITERS 40
#define NR_WORDS   6
#define NR_PRIVATE 4

enum kind {
	PLAIN,
	HAS_RT_WAITER,
	HAS_PI_STATE,
	NR_KINDS
};

struct world {
	void (*empty)(int nr_buckets);
	/* Waiter @i begins to wait on futex @word. */
	void (*wait)(int i, int word, int prio, int kind);
	/* It ends by itself; false if it does not wait. */
	int (*leave)(int i);
	int (*wake)(int word, int nr);
	int (*requeue)(int from, int to, int nr_wake, int nr_requeue);
	void (*resize)(int nr_buckets);
	/* The waiters of futex @word in their order: how many, and who. */
	int (*queue)(int word, int who[NR_WAITERS]);
	/* What is wrong with this world alone, or NULL. */
	const char *(*wrong)(void);
};

extern const struct world mainline_world, turnstile_world;

#endif /* DROVER_WORLDS_H */
