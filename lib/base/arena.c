// SPDX-License-Identifier: MIT
/* Memory that is never given back. */
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/lock.h"

/* Mapped when a list runs out. */
#define PAGE_BYTES 4096

static struct free_list {
	struct lock lock;
	void *first; /* [lock] */
} free_lists[NR_ARENAS];

void arena_put(enum arena to, void *item)
{
	struct free_list *list = &free_lists[to];

	lock_take(&list->lock);
	*(void **)item = list->first;
	list->first = item;
	lock_drop(&list->lock);
}

APART void *arena_get(enum arena from)
{
	struct free_list *list = &free_lists[from];
	int saved = errno;
	char *page = MAP_FAILED;
	void *item;

	lock_take(&list->lock);
	if (unlikely(!list->first))
		page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t at = 0; page != MAP_FAILED && at < PAGE_BYTES;
	     at += ARENA_ITEM) {
		*(void **)(page + at) = list->first;
		list->first = page + at;
	}
	item = list->first;
	if (item)
		list->first = *(void **)item;
	lock_drop(&list->lock);
	errno = saved;
	return item;
}

void arena_after_fork(void)
{
	memset(free_lists, 0, sizeof(free_lists));
}
