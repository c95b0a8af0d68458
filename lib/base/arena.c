// SPDX-License-Identifier: MIT
/* Memory that is never given back. */
#include <sys/mman.h>

#include "base/fork.h"

/* One page is mapped when a list runs out. */
#define PAGE_BYTES 4096

/* Put the items from @first to @last, each of which points to the next one. */
static void put_chain(enum arena to, void *first, void *last)
{
	struct free_list *list = &wiped.free_lists[to];

	lock_take(&list->lock);
	*(void **)last = list->first;
	list->first = first;
	lock_drop(&list->lock);
}

void arena_put(enum arena to, void *item)
{
	put_chain(to, item, item);
}

/*
 * Called without the lock of the list: mmap() takes longer than a thread should
 * wait for a lock.
 */
COLD static void *map_items(enum arena to)
{
	int saved = errno;
	char *last, *page;

	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (page == MAP_FAILED)
		return NULL;
	last = page + PAGE_BYTES - ARENA_ITEM;
	for (char *item = page + ARENA_ITEM; item < last; item += ARENA_ITEM)
		*(void **)item = item + ARENA_ITEM;
	put_chain(to, page + ARENA_ITEM, last);
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
