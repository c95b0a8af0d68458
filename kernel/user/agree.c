// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do both movers do the same?
 *
 * usage: requeue-agree [CALLS [SEED]]
 *
 * Random calls on random queues, each on two copies. Waiters wait on three
 * futexes in two buckets, with up to three priorities; some are PI waiters,
 * and some stay queued when they are woken, as those of io_uring may. After
 * each call the copies have to be the same: the answer, who was woken, the
 * counts, both queues with all their links, and every key and lock_ptr.
 */
#include <stdio.h>
#include <linux/plist.h>

#include "futex.h"

#define NR_WORDS   3
#define NR_WAITERS 40
#define NR_CALLS   4 /* for each queue */

int futex_requeue_mainline(u32 *uaddr1, unsigned int flags1, u32 *uaddr2,
			   unsigned int flags2, int nr_wake, int nr_requeue,
			   u32 *cmpval, int requeue_pi);

enum kind {
	PLAIN,
	STAYS_QUEUED,
	HAS_RT_WAITER,
	HAS_PI_STATE,
	NR_KINDS
};

/* All pointers into a world differ by the same from those into the other. */
static struct world {
	struct futex_hash_bucket buckets[2];
	struct futex_q waiters[NR_WAITERS];
	int nr_waiters;
	int woken[NR_WAITERS];
	int nr_woken;
	int answer;
} worlds[2], *world;

static u32 words[NR_WORDS];

/* The first futex shares its bucket with the third. */
struct futex_hash_bucket *futex_hash(union futex_key *key)
{
	return &world->buckets[((u32 *)key->both.word - words) % 2];
}

static void wake(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct futex_hash_bucket *hb = futex_hash(&q->key);

	(void)wake_q;
	world->woken[world->nr_woken++] = q - world->waiters;
	if (q->bitset == STAYS_QUEUED)
		return;
	plist_del(&q->list, &hb->chain);
	futex_hb_waiters_dec(hb);
	q->lock_ptr = NULL;
}

static int below(int n)
{
	return random() % n;
}

static void queue(int word, int prio, enum kind kind)
{
	struct futex_q *q = &world->waiters[world->nr_waiters++];
	struct futex_hash_bucket *hb;

	get_futex_key(&words[word], FLAGS_SIZE_32, &q->key, FUTEX_READ);
	hb = futex_hash(&q->key);
	plist_node_init(&q->list, prio);
	q->lock_ptr = &hb->lock;
	q->wake = wake;
	q->bitset = kind;
	q->rt_waiter = kind == HAS_RT_WAITER ? (void *)1 : NULL;
	q->pi_state = kind == HAS_PI_STATE ? (void *)1 : NULL;
	futex_hb_waiters_inc(hb);
	plist_add(&q->list, &hb->chain);
}

static void empty(struct world *w)
{
	memset(w, 0, sizeof(*w));
	plist_head_init(&w->buckets[0].chain);
	plist_head_init(&w->buckets[1].chain);
}

/* The same queues in both worlds. */
static void fill(void)
{
	int nr = 1 + below(NR_WAITERS), nr_prios = 1 + below(3);
	int one_elsewhere_in = 1 + below(2) * below(NR_WAITERS);
	int one_strange_in = 1 + below(2) * below(NR_WAITERS);

	empty(&worlds[0]);
	empty(&worlds[1]);
	while (nr--) {
		int word = below(one_elsewhere_in) == 1 ? below(NR_WORDS) : 0;
		int kind = below(one_strange_in) == 1 ? below(NR_KINDS) : PLAIN;
		int prio = 10 * below(nr_prios);

		for (int i = 0; i < 2; i++) {
			world = &worlds[i];
			queue(word, prio, kind);
		}
	}
}

struct call {
	u32 *from, *to;
	int nr_wake, nr_requeue;
};

static struct call draw_call(void)
{
	return (struct call){
		.from = &words[below(8) ? 0 : below(NR_WORDS)],
		.to = &words[below(4) ? 1 : below(NR_WORDS)],
		.nr_wake = below(3) ? 0 : below(4),
		.nr_requeue = below(3) ? INT_MAX : below(NR_WAITERS),
	};
}

static void make_call(const struct call *c)
{
	worlds[0].nr_woken = worlds[1].nr_woken = 0;
	world = &worlds[0];
	world->answer = futex_requeue_mainline(c->from, FLAGS_SIZE_32, c->to,
					       FLAGS_SIZE_32, c->nr_wake,
					       c->nr_requeue, NULL, 0);
	world = &worlds[1];
	world->answer = futex_requeue(c->from, FLAGS_SIZE_32, c->to,
				      FLAGS_SIZE_32, c->nr_wake, c->nr_requeue,
				      NULL);
}

/* A pointer as its distance from its world. It may be NULL. */
static bool same(const void *a, const void *b)
{
	if (!a || !b)
		return a == b;
	return (char *)a - (char *)&worlds[0] == (char *)b - (char *)&worlds[1];
}

static bool same_links(const struct list_head *a, const struct list_head *b)
{
	return same(a->next, b->next) && same(a->prev, b->prev);
}

static const char *waiter_differs(const struct futex_q *a,
				  const struct futex_q *b)
{
	if (memcmp(&a->key, &b->key, sizeof(a->key)))
		return "a key";
	if (!same(a->lock_ptr, b->lock_ptr))
		return "a lock_ptr";
	if (!same_links(&a->list.node_list, &b->list.node_list))
		return "the order";
	if (!same_links(&a->list.prio_list, &b->list.prio_list))
		return "the list of priorities";
	return NULL;
}

static const char *bucket_differs(const struct futex_hash_bucket *a,
				  const struct futex_hash_bucket *b)
{
	if (atomic_read(&a->waiters) != atomic_read(&b->waiters))
		return "a count of waiters";
	if (a->lock.locked || b->lock.locked)
		return "a lock that is held";
	if (!same_links(&a->chain.node_list, &b->chain.node_list))
		return "the ends of a queue";
	return NULL;
}

/* What is not the same in both worlds, or NULL. */
static const char *difference(void)
{
	struct world *a = &worlds[0], *b = &worlds[1];
	const char *what = NULL;

	if (a->answer != b->answer)
		return "the answer";
	if (a->nr_woken != b->nr_woken ||
	    memcmp(a->woken, b->woken, a->nr_woken * sizeof(a->woken[0])))
		return "who was woken";
	for (int i = 0; i < 2 && !what; i++)
		what = bucket_differs(&a->buckets[i], &b->buckets[i]);
	for (int i = 0; i < a->nr_waiters && !what; i++)
		what = waiter_differs(&a->waiters[i], &b->waiters[i]);
	return what;
}

int main(int argc, char **argv)
{
	long nr_calls = argc > 1 ? atol(argv[1]) : 1000000;
	unsigned int seed = argc > 2 ? atol(argv[2]) : 1;
	long nr_moved = 0, nr_failed = 0;
	const char *what;
	struct call c;

	srandom(seed);
	for (long i = 0; i < nr_calls; i++) {
		if (i % NR_CALLS == 0)
			fill();
		c = draw_call();
		make_call(&c);
		what = difference();
		if (what) {
			fprintf(stderr,
				"requeue-agree %ld %u: the movers differ in %s\n",
				i + 1, seed, what);
			return 1;
		}
		nr_moved += world->answer > world->nr_woken;
		nr_failed += world->answer < 0;
	}
	printf("%ld calls, of which %ld moved waiters and %ld failed: no difference\n",
	       nr_calls, nr_moved, nr_failed);
	return nr_moved < nr_calls / 10 || nr_failed < nr_calls / 100;
}
