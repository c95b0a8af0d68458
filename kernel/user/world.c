// SPDX-License-Identifier: GPL-2.0-only
/*
 * A world of waiters, compiled against the futex.h of mainline and against that
 * of the queues (TURNSTILE).
 *
 * Mainline's is the model: each futex has a bucket of its own there, so its
 * answers and orders are what a call does to each futex. In the other world
 * futexes share one to four buckets, which are resized; two are in global
 * buckets.
 */
#include <stdio.h>
#include <linux/plist.h>

#include "futex.h"
#include "worlds.h"

static u32 words[NR_WORDS];
static struct mm_struct mm;
static struct futex_q waiters[NR_WAITERS];
static bool queued[NR_WAITERS];
struct task_struct the_task;

static const unsigned int flags[NR_WORDS] = {
	0, 0, 0, 0, FLAGS_SHARED, FLAGS_SHARED
};

int get_futex_key(u32 *uaddr, unsigned int shared, union futex_key *key,
		  enum futex_access rw)
{
	(void)rw;
	memset(key, 0, sizeof(*key));
	key->both.ptr = (unsigned long)&mm;
	key->both.word = 1;
	key->both.offset = (uaddr - words) * sizeof(u32) |
			   (shared & FLAGS_SHARED ? FUT_OFF_MMSHARED : 0);
	key->both.node = FUTEX_NO_NODE;
	return 0;
}

#ifdef TURNSTILE
#define NR_BUCKETS (2 * NR_PRIVATE + 2)
#else
#define NR_BUCKETS NR_WORDS
#endif

static struct futex_hash_bucket buckets[NR_BUCKETS];
static int nr_private, first_private;

static struct futex_hash_bucket *bucket_of(union futex_key *key)
{
	int word = key->both.offset / sizeof(u32);

#ifdef TURNSTILE
	if (futex_key_is_private(key))
		return &buckets[first_private + word % nr_private];
	return &buckets[2 * NR_PRIVATE + word % 2];
#else
	return &buckets[word];
#endif
}

struct futex_bucket_ref futex_hash(union futex_key *key)
{
	return (struct futex_bucket_ref){ .hb = bucket_of(key) };
}

struct futex_private_hash *futex_private_hash(struct mm_struct *unused)
{
	(void)unused;
	return NULL;
}

void futex_private_hash_put(struct futex_private_hash *hash)
{
	(void)hash;
}

void put_pi_state(struct futex_pi_state *pi_state)
{
	WARN_ON(pi_state);
}

static union futex_key key_of(int word)
{
	union futex_key key;

	get_futex_key(&words[word], flags[word], &key, FUTEX_READ);
	return key;
}

static bool is_pi(const struct futex_q *q)
{
	return q->pi_state || q->rt_waiter;
}

#ifdef TURNSTILE

static int nr_allocated;
static struct futex_queue objects[NR_WAITERS + 1];
static bool used[NR_WAITERS + 1];

/* What was freed is used first, as it is left. */
void *kmem_cache_alloc(struct kmem_cache *cache, unsigned int gfp)
{
	int i = 0;

	(void)cache;
	(void)gfp;
	while (used[i])
		WARN_ON(++i > NR_WAITERS);
	used[i] = true;
	nr_allocated++;
	WARN_ON(!list_empty(&objects[i].spares));
	return &objects[i];
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	int i = (struct futex_queue *)object - objects;

	(void)cache;
	WARN_ON(!used[i]);
	used[i] = false;
	nr_allocated--;
}

static void init_bucket(struct futex_hash_bucket *hb)
{
	INIT_LIST_HEAD(&hb->queues);
}

static void join(struct futex_q *q)
{
	struct futex_hash_bucket *hb = bucket_of(&q->key);

	WARN_ON(futex_q_prepare(q));
	q->lock_ptr = &hb->lock;
	futex_hb_waiters_inc(hb);
	futex_queue_join(q, futex_queue_find(hb, &q->key), hb, &q->key);
}

static void gone(struct futex_q *q)
{
	futex_q_release(q);
}

static void resize(int nr_buckets)
{
	int old = first_private;

	first_private = NR_PRIVATE - first_private;
	nr_private = nr_buckets;
	for (int i = old; i < old + NR_PRIVATE; i++) {
		struct futex_queue *this, *next;
		struct futex_hash_bucket *hb;

		list_for_each_entry_safe(this, next, &buckets[i].queues, list)
		{
			hb = bucket_of(&this->key);
			futex_hb_waiters_move(&buckets[i], hb, this->nr);
			list_move_tail(&this->list, &hb->queues);
			this->hb = hb;
		}
		WARN_ON(atomic_read(&buckets[i].waiters));
	}
}

static int queue(int word, int who[NR_WAITERS])
{
	union futex_key key = key_of(word);
	struct futex_queue *queue = futex_queue_find(bucket_of(&key), &key);
	struct futex_q *this, *next;
	int nr = 0;

	futex_queue_for_each_safe(this, next, queue) who[nr++] = this - waiters;
	WARN_ON(queue && queue->nr != nr);
	return nr;
}

static int count(struct futex_queue *queue, bool seen[NR_WAITERS + 1])
{
	int i = queue - objects;

	if (seen[i])
		return 0;
	WARN_ON(!used[i]);
	seen[i] = true;
	return 1;
}

/* How many queues waiters lead to, or lie in others and in the cache. */
static int count_queues(void)
{
	bool seen[NR_WAITERS + 1] = { false };
	struct futex_queue *queue, *spare;
	int nr = 0;

	for (int i = 0; i < NR_WAITERS; i++) {
		if (!queued[i])
			continue;
		for (queue = waiters[i].queue; queue; queue = queue->forward) {
			nr += count(queue, seen);
			list_for_each_entry(spare, &queue->spares, list)
				nr += count(spare, seen);
		}
	}
	if (the_task.futex.queue_cache)
		nr += count(the_task.futex.queue_cache, seen);
	return nr;
}

static const char *wrong(void)
{
	int nr[NR_BUCKETS] = { 0 };
	struct futex_hash_bucket *hb;

	for (int i = 0; i < NR_WAITERS; i++) {
		if (!queued[i])
			continue;
		if (!waiters[i].queue)
			return "a waiter without a queue";
		hb = container_of(futex_q_lockptr(&waiters[i]),
				  struct futex_hash_bucket, lock);
		nr[hb - buckets]++;
	}
	for (int i = 0; i < NR_BUCKETS; i++) {
		if (buckets[i].lock.locked)
			return "a lock that is held";
		if (atomic_read(&buckets[i].waiters) != nr[i])
			return "a count of waiters";
	}
	if (nr_allocated != count_queues())
		return "the number of queues";
	return NULL;
}

#else /* mainline */

static void init_bucket(struct futex_hash_bucket *hb)
{
	plist_head_init(&hb->chain);
}

static void join(struct futex_q *q)
{
	struct futex_hash_bucket *hb = bucket_of(&q->key);

	q->lock_ptr = &hb->lock;
	futex_hb_waiters_inc(hb);
	plist_add(&q->list, &hb->chain);
}

void __futex_unqueue(struct futex_q *q)
{
	struct futex_hash_bucket *hb =
		container_of(q->lock_ptr, struct futex_hash_bucket, lock);

	plist_del(&q->list, &hb->chain);
	futex_hb_waiters_dec(hb);
}

static void gone(struct futex_q *q)
{
	(void)q;
}

static void resize(int nr_buckets)
{
	(void)nr_buckets;
}

static int queue(int word, int who[NR_WAITERS])
{
	union futex_key key = key_of(word);
	struct futex_q *this;
	int nr = 0;

	plist_for_each_entry(this, &bucket_of(&key)->chain, list) {
		WARN_ON(!futex_match(&this->key, &key));
		who[nr++] = this - waiters;
	}
	return nr;
}

static const char *wrong(void)
{
	return NULL;
}

#endif

static void empty(int nr_buckets)
{
#ifdef TURNSTILE
	/* Those of before end first, and leave what they hold. */
	for (int i = 0; i < NR_WAITERS; i++) {
		if (queued[i]) {
			__futex_unqueue(&waiters[i]);
			gone(&waiters[i]);
		}
	}
	if (!objects[0].spares.next)
		for (int i = 0; i <= NR_WAITERS; i++)
			INIT_LIST_HEAD(&objects[i].spares);
	nr_private = nr_buckets;
#else
	(void)nr_buckets;
#endif
	memset(queued, 0, sizeof(queued));
	memset(buckets, 0, sizeof(buckets));
	for (int i = 0; i < NR_BUCKETS; i++)
		init_bucket(&buckets[i]);
}

/* Once it is marked nobody here looks at it until the call has ended. */
static void mark(struct wake_q_head *wake_q, struct futex_q *q)
{
	(void)wake_q;
	__futex_unqueue(q);
	q->lock_ptr = NULL;
	queued[q - waiters] = false;
}

static void release_woken(void)
{
	for (int i = 0; i < NR_WAITERS; i++)
		if (!queued[i])
			gone(&waiters[i]);
}

static void wait_on(int i, int word, int prio, int kind)
{
	struct futex_q *q = &waiters[i];

	memset(q, 0, sizeof(*q));
	q->key = key_of(word);
	plist_node_init(&q->list, prio);
	q->wake = mark;
	q->rt_waiter = kind == HAS_RT_WAITER ? (void *)1 : NULL;
	q->pi_state = kind == HAS_PI_STATE ? (void *)1 : NULL;
	queued[i] = true;
	join(q);
}

static int leave(int i)
{
	if (!queued[i])
		return 0;
	__futex_unqueue(&waiters[i]);
	gone(&waiters[i]);
	queued[i] = false;
	return 1;
}

static int wake(int word, int nr)
{
	int who[NR_WAITERS], nr_queued = queue(word, who), i;

	for (i = 0; i < nr && i < nr_queued && !is_pi(&waiters[who[i]]); i++)
		mark(NULL, &waiters[who[i]]);
	release_woken();
	return i;
}

static int requeue(int from, int to, int nr_wake, int nr_requeue)
{
	int ret = futex_requeue(&words[from], flags[from], &words[to],
				flags[to], nr_wake, nr_requeue, NULL, 0);

	release_woken();
	return ret;
}

#ifdef TURNSTILE
const struct world turnstile_world = {
#else
const struct world mainline_world = {
#endif
	empty, wait_on, leave, wake, requeue, resize, queue, wrong
};
