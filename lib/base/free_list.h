/* SPDX-License-Identifier: MIT */
/*
 * Cache lines in nobody's use, which all threads share. They lie in pages that
 * are never given back, so a thread that has an old pointer to a line may read
 * it. What is in a line stays there, except for its first pointer, which links
 * the list.
 */
#ifndef DROVER_FREE_LIST_H
#define DROVER_FREE_LIST_H

#include "base/lock.h"

#define LINE_BYTES 64

/**
 * struct free_list - lines that were used for one kind of thing, or for nothing
 * @lock: guards the list; a page is added with it, too
 * @first: a line, which begins with a pointer to the next one; [lock]
 */
struct free_list {
	struct lock lock;
	void *first;
};

/* Each struct waiter, and each group of a private condvar, comes from here. */
extern struct free_list free_waiters, free_groups;

/* A list that is empty gets another page. Return: NULL without memory. */
void *free_list_get(struct free_list *list);
void free_list_put(struct free_list *list, void *line);

/* In the child of a fork: what was free in the parent is lost. */
void free_lists_after_fork(void);

#endif /* DROVER_FREE_LIST_H */
