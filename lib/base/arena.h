/* SPDX-License-Identifier: MIT */
/*
 * Memory that is never given back: items of one cache line, in pages that are
 * never unmapped. So a thread that has an old pointer to an item may still read
 * what is there. Each arena has a list of the items that no thread uses.
 *
 * An item of the list begins with a pointer to the next one. Apart from this
 * pointer, the item still has the content that its last user left in it.
 */
#ifndef DROVER_ARENA_H
#define DROVER_ARENA_H

#define ARENA_ITEM 64 /* bytes */

enum arena {
	ARENA_WAITERS, /* struct waiter, base/waiter.h */
	ARENA_GROUPS,  /* struct group, cond/group.c */
	NR_ARENAS,
};

/* Return: an item, which is zero at its first use; NULL without memory. */
void *arena_get(enum arena from);
void arena_put(enum arena to, void *item);

#endif /* DROVER_ARENA_H */
