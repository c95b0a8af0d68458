// SPDX-License-Identifier: MIT
/* The registry of waiters: a hash table, and which waiters are in it. */
#include "base/fork.h"
#include "base/waiter.h"

/*
 * The bucket of a pthread_t, by a hash of it. With ten thousand threads each
 * list has about forty of them, which matters because cond_cancel() holds the
 * lock of a bucket across a wake-up.
 *
 * Addresses of threads have the same low bits, and often the same high bits.
 */
static struct bucket *bucket_of(pthread_t thread)
{
	uint64_t mixed = (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15);

	return &wiped.buckets[mixed >> 56];
}

struct waiter *waiter_find(pthread_t thread, struct lock **lock)
{
	struct bucket *b = bucket_of(thread);
	struct waiter *w;

	*lock = &b->lock;
	lock_take(*lock);
	w = b->first;
	while (w && !pthread_equal(w->thread, thread))
		w = w->next;
	return w;
}

void waiter_for_all(void (*each)(struct waiter *w, void *arg), void *arg)
{
	for (struct bucket *b = wiped.buckets;
	     b < wiped.buckets + NR_WAITER_BUCKETS; b++) {
		lock_take(&b->lock);
		for (struct waiter *w = b->first; w; w = w->next)
			each(w, arg);
		lock_drop(&b->lock);
	}
}

static void look_inside(struct waiter *w, void *arg)
{
	const void **object = arg;

	if (load_acquire(&w->inside) == *object) /* [B-LEAVE] */
		*object = NULL;
}

bool waiter_is_inside(const void *object)
{
	waiter_for_all(look_inside, &object);
	return !object;
}

void waiter_publish(struct waiter *w, futex_word *word)
{
	struct lock *lock = &bucket_of(w->thread)->lock;

	/* A canceller holds the lock while it uses the previous word. */
	lock_take(lock);
	w->shared_word = word;
	lock_drop(lock);
}

void waiter_add(struct waiter *w)
{
	struct bucket *b = bucket_of(w->thread);

	w->next = b->first;
	b->first = w;
}

void waiter_remove(struct waiter *w)
{
	struct bucket *b = bucket_of(w->thread);
	struct waiter **at = &b->first;

	lock_take(&b->lock);
	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	lock_drop(&b->lock);
}
