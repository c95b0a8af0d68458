// SPDX-License-Identifier: MIT
/* Free memory, page by page. */
#include <string.h>
#include <sys/mman.h>

#include "base/free_list.h"

#define PAGE_BYTES 4096

struct free_list free_waiters, free_groups;

void free_list_put(struct free_list *list, void *line)
{
	lock_take(&list->lock);
	*(void **)line = list->first;
	list->first = line;
	lock_drop(&list->lock);
}

APART void *free_list_get(struct free_list *list)
{
	int saved = errno;
	char *page = MAP_FAILED;
	void *line;

	lock_take(&list->lock);
	if (unlikely(!list->first))
		page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t at = 0; page != MAP_FAILED && at < PAGE_BYTES;
	     at += LINE_BYTES) {
		*(void **)(page + at) = list->first;
		list->first = page + at;
	}
	line = list->first;
	if (line)
		list->first = *(void **)line;
	lock_drop(&list->lock);
	errno = saved;
	return line;
}

/* A thread of the parent may have held a lock, and have been in mid-change. */
void free_lists_after_fork(void)
{
	memset(&free_waiters, 0, sizeof(free_waiters));
	memset(&free_groups, 0, sizeof(free_groups));
}
