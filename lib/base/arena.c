// SPDX-License-Identifier: MIT
/* Memory that is never given back. */
#include <sys/mman.h>

#include "base/fork.h"

/* One page is mapped when a list runs out. */
#define PAGE_BYTES 4096

void arena_put(enum arena to, void *item)
{
	struct free_list *list = &wiped.free_lists[to];

	lock_take(&list->lock);
	*(void **)item = list->first;
	list->first = item;
	lock_drop(&list->lock);
}

/*
 * Called without the lock of the list: mmap() takes longer than a thread should
 * wait for a lock.
 */
COLD static void *map_items(enum arena to)
{
	int saved = errno;
	char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (page == MAP_FAILED)
		return NULL;
	for (size_t at = ARENA_ITEM; at < PAGE_BYTES; at += ARENA_ITEM)
		arena_put(to, page + at);
	return page;
}

APART void *arena_get(enum arena from)
{
	struct free_list *list = &wiped.free_lists[from];
	void *item;

	lock_take(&list->lock);
	item = list->first;
	if (item)
		list->first = *(void **)item;
	lock_drop(&list->lock);
	return item ?: map_items(from);
}
