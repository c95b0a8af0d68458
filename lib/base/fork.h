/* SPDX-License-Identifier: MIT */
/*
 * Forks. The child has one thread, the caller of fork(): other threads stayed
 * in the parent, some of them with locks of the library's.
 */
#ifndef DROVER_FORK_H
#define DROVER_FORK_H

#include "base/lock.h"

/*
 * Counts the forks that led to this process, from GENERATION_LEAST to
 * UINT32_MAX and again. It changes only in the child of a fork, while that has
 * one thread.
 */
#define GENERATION_LEAST (UINT32_C(1) << 31)
extern uint32_t fork_generation;

/*
 * For an object that starts anew in the child of a fork, where nobody has its
 * own lock: whoever finds it of an older generation takes this one.
 */
extern struct lock fork_lock;

/* From now on the children of forks start anew; the library's constructor. */
void fork_expect(void);

#endif /* DROVER_FORK_H */
