/* SPDX-License-Identifier: MIT */
/*
 * Forks. The child has one thread, the caller of fork(). The other threads stay
 * in the parent, and some of them may hold locks of the library's. The locks
 * and lists that the child must not inherit lie in one place, which the kernel
 * wipes in the child. An atfork handler would have to run before the handlers
 * of others, which may start threads that wait; the kernel's wipe has no such
 * order. Data elsewhere that is wrong after a fork is kept together with the
 * generation in which it is right.
 */
#ifndef DROVER_FORK_H
#define DROVER_FORK_H

#include "base/arena.h"
#include "base/lock.h"

struct waiter;

/*
 * A multiple of each page size of the port, because the kernel wipes whole
 * pages.
 */
#if defined(__x86_64__) || defined(__riscv)
#define MOST_PAGE 4096
#else
#define MOST_PAGE 65536
#endif

/* Lists of waiters, in base/waiter.c. */
#define NR_WAITER_BUCKETS 256

/**
 * struct wiped - what is zero in the child of a fork
 * @nr_fork: the number of the process, unlike that of each process from which
 *	     it descends; 0 until fork_generation_own()
 * @lock: for an object that starts anew in the child, where no thread has the
 *	  object's own lock. A thread that finds an object of an older
 *	  generation takes this lock.
 * @free_lists: the free items of the arenas
 * @buckets: all waiters
 */
extern struct wiped {
	_Atomic uint32_t nr_fork;
	struct lock lock;
	struct free_list {
		struct lock lock;
		void *first; /* [lock] */
	} free_lists[NR_ARENAS] __attribute__((aligned(64)));
	struct bucket {
		struct lock lock;
		struct waiter *first; /* [lock] */
	} buckets[NR_WAITER_BUCKETS];
} __attribute__((aligned(MOST_PAGE))) wiped;

/*
 * The generation of this process, from GENERATION_LEAST to UINT32_MAX. An
 * object with another generation is an ancestor's, or has not been used.
 * GENERATION_LEAST itself is the generation of a child in which no thread has
 * asked for its own; no object has it.
 */
#define GENERATION_LEAST  (UINT32_C(1) << 31)
#define fork_generation() (load_relaxed(&wiped.nr_fork) | GENERATION_LEAST)

/* The same, for an object to keep: it is never GENERATION_LEAST. */
COLD uint32_t fork_generation_own(void);

/* How many numbers were given to this process and its ancestors. */
extern _Atomic uint32_t nr_forks;

#endif /* DROVER_FORK_H */
