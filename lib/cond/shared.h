/* SPDX-License-Identifier: MIT */
/* Condition variables of several processes. */
#ifndef DROVER_COND_SHARED_H
#define DROVER_COND_SHARED_H

#include "base/thread.h"
#include "mutex/user_mutex.h"

struct cond;

struct shared_group {
	futex_word word;
	uint32_t number;
	uint32_t blocked;
	uint32_t tokens;
};

struct shared_cond {
	struct shared_group group[2];
	futex_word refs;
	uint32_t flags; /* struct cond's */
	uint32_t state;
	futex_word lock;
};

void cond_shared_init(struct cond *c);
APART void cond_shared_destroy(struct cond *c);
APART int cond_shared_wait(struct cond *c, void *mutex,
			   const struct deadline *deadline);
APART void cond_shared_signal(struct cond *c);
APART void cond_shared_broadcast(struct cond *c);
/* @target: the word of @mutex, three states, shared. */
APART void cond_shared_broadcast_on(struct cond *c, void *mutex,
				    futex_word *target);

#endif /* DROVER_COND_SHARED_H */
