// SPDX-License-Identifier: GPL-2.0-only
/*
 * agree.c - do both movers do the same?
 *
 * usage: requeue-agree [CALLS [SEED]]
 *
 * The program makes random calls on random queues, each with both movers, on
 * two copies of the queues. The waiters wait on six futexes: private ones,
 * whose hash has one to four buckets and is resized between calls; private ones
 * with a NUMA node, and shared ones with and without a node, which are in
 * global buckets. They have up to three priorities. Some are PI waiters, and
 * some stay queued when they are woken, as waiters of io_uring could in earlier
 * versions of Linux.
 *
 * After each call the copies must be equal: the answer, the woken waiters, the
 * counts, all queues with their links, and every key and lock_ptr. Every waiter
 * must be in the bucket of its key, and every reference to the private hash
 * must be given back. No mover may read a waiter that was woken, or prefetch
 * anything but a waiter.
 *
 * Some calls mark their target, which mainline cannot do. So the program makes
 * the mark itself, and calls mainline's mover with the arguments that follow
 * from it.
 */
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <linux/plist.h>

#include "futex.h"

#define NR_WAITERS 40
#define NR_CALLS   4 /* with each set of queues */
#define NR_PRIVATE 4
#define NR_GLOBAL  2 /* on each node */

int futex_requeue_mainline(u32 *uaddr1, unsigned int flags1, u32 *uaddr2,
			   unsigned int flags2, int nr_wake, int nr_requeue,
			   u32 *cmpval, int requeue_pi,
			   const struct futex_mark *mark);

enum kind {
	PLAIN,
	STAYS_QUEUED,
	HAS_RT_WAITER,
	HAS_PI_STATE,
	NR_KINDS
};

struct futex_private_hash {
	int nr_refs;
	int nr_buckets;
	struct futex_hash_bucket buckets[NR_PRIVATE];
};

/*
 * A copy of all queues. Pointers into the two worlds differ by the distance of
 * the worlds.
 */
static struct world {
	struct futex_hash_bucket global[nr_node_ids][NR_GLOBAL];
	struct futex_private_hash hashes[2], *hash;
	struct futex_q waiters[NR_WAITERS];
	int nr_waiters;
	int woken[NR_WAITERS];
	int nr_woken;
	int nr_astray; /* prefetches of addresses that are not a waiter's */
	int answer;
} worlds[2], *world;

static const struct {
	unsigned int flags;
	int node;
} futexes[] = {
	{ 0, FUTEX_NO_NODE },
	{ 0, FUTEX_NO_NODE },
	{ 0, FUTEX_NO_NODE },
	{ FLAGS_NUMA, 1 },
	{ FLAGS_SHARED, FUTEX_NO_NODE },
	{ FLAGS_SHARED | FLAGS_NUMA, 1 },
};

#define NR_WORDS ((int)(sizeof(futexes) / sizeof(futexes[0])))

static u32 words[NR_WORDS];
static struct mm_struct mm;
struct task_struct the_task;

int get_futex_key(u32 *uaddr, unsigned int flags, union futex_key *key,
		  enum futex_access rw)
{
	int i = uaddr - words;

	(void)rw;
	memset(key, 0, sizeof(*key));
	key->both.ptr = (unsigned long)&mm;
	key->both.word = 1;
	key->both.offset = i * sizeof(u32) |
			   (flags & FLAGS_SHARED ? FUT_OFF_MMSHARED : 0);
	key->both.node = flags & FLAGS_NUMA ? futexes[i].node : FUTEX_NO_NODE;
	return 0;
}

struct futex_private_hash *futex_private_hash(struct mm_struct *unused)
{
	(void)unused;
	world->hash->nr_refs++;
	return world->hash;
}

void futex_private_hash_put(struct futex_private_hash *hash)
{
	WARN_ON(hash != world->hash);
	hash->nr_refs--;
}

static struct futex_hash_bucket *bucket_of(union futex_key *key)
{
	unsigned int at = key->both.offset / sizeof(u32);
	int node = key->both.node;

	if (node == FUTEX_NO_NODE && futex_key_is_private(key))
		return &world->hash->buckets[at % world->hash->nr_buckets];
	if (node == FUTEX_NO_NODE)
		node = at % nr_node_ids;
	return &world->global[node][at % NR_GLOBAL];
}

struct futex_bucket_ref futex_hash(union futex_key *key)
{
	struct futex_hash_bucket *hb = bucket_of(key);

	if (hb < world->hash->buckets ||
	    hb >= world->hash->buckets + NR_PRIVATE)
		return (struct futex_bucket_ref){ .hb = hb };
	return (struct futex_bucket_ref){ hb, futex_private_hash(NULL) };
}

/* Mainline calls this with NULL at the end of every requeue. */
void put_pi_state(struct futex_pi_state *pi_state)
{
	WARN_ON(pi_state);
}

struct futex_q *futex_top_waiter(struct futex_hash_bucket *hb,
				 union futex_key *key)
{
	struct futex_q *q;

	plist_for_each_entry(q, &hb->chain, list)
		if (futex_match(&q->key, key))
			return q;
	return NULL;
}

int fault_in_user_writeable(u32 *uaddr)
{
	(void)uaddr;
	return 0;
}

/* At random: the page is absent, the CPU gives up, or the word has changed. */
int futex_atomic_cmpxchg_inatomic(u32 *curval, u32 *uaddr, u32 old, u32 new)
{
	static const int answers[] = { -EFAULT, -EAGAIN, 0, 0 };
	int i = random() % 4;

	*curval = *uaddr + (i == 2);
	if (i == 3 && *uaddr == old)
		*uaddr = new;
	return answers[i];
}

static void unqueue(struct futex_q *q)
{
	struct futex_hash_bucket *hb =
		container_of(q->lock_ptr, struct futex_hash_bucket, lock);

	plist_del(&q->list, &hb->chain);
	futex_hb_waiters_dec(hb);
	q->lock_ptr = NULL;
}

static void queue(struct futex_q *q)
{
	struct futex_hash_bucket *hb = bucket_of(&q->key);

	q->lock_ptr = &hb->lock;
	futex_hb_waiters_inc(hb);
	plist_add(&q->list, &hb->chain);
}

static void wake(struct wake_q_head *wake_q, struct futex_q *q)
{
	(void)wake_q;
	world->woken[world->nr_woken++] = q - world->waiters;
	if (q->bitset == STAYS_QUEUED)
		return;
	unqueue(q);
	/*
	 * The waiter's thread may end, so the rest of the call must not read
	 * it.
	 */
	ASAN_POISON_MEMORY_REGION(q, sizeof(*q));
}

/* The prefetchw() of both movers. The head of a queue is not in a futex_q. */
void check_prefetch(const void *address)
{
	const void *end = world->waiters + world->nr_waiters;

	world->nr_astray += address < (void *)world->waiters || address >= end;
}

static int below(int n)
{
	return random() % n;
}

static void init(struct futex_q *q, int word, int prio, enum kind kind)
{
	get_futex_key(&words[word], futexes[word].flags, &q->key, FUTEX_READ);
	plist_node_init(&q->list, prio);
	q->wake = wake;
	q->bitset = kind;
	q->rt_waiter = kind == HAS_RT_WAITER ? (void *)1 : NULL;
	q->pi_state = kind == HAS_PI_STATE ? (void *)1 : NULL;
	queue(q);
}

static void empty_hash(struct futex_private_hash *hash, int nr_buckets)
{
	memset(hash, 0, sizeof(*hash));
	hash->nr_buckets = nr_buckets;
	for (int i = 0; i < NR_PRIVATE; i++)
		plist_head_init(&hash->buckets[i].chain);
}

static void empty(int nr_buckets)
{
	memset(world, 0, sizeof(*world));
	for (int i = 0; i < nr_node_ids; i++)
		for (int j = 0; j < NR_GLOBAL; j++)
			plist_head_init(&world->global[i][j].chain);
	world->hash = &world->hashes[0];
	empty_hash(world->hash, nr_buckets);
}

/* Give the private hash another size, as futex_rehash_private() does. */
static void resize(int nr_buckets)
{
	struct futex_private_hash *old = world->hash;
	struct futex_hash_bucket *hb;
	struct futex_q *q, *next;

	world->hash = &world->hashes[old == world->hashes];
	empty_hash(world->hash, nr_buckets);
	for (hb = old->buckets; hb < old->buckets + NR_PRIVATE; hb++) {
		plist_for_each_entry_safe(q, next, &hb->chain, list) {
			unqueue(q);
			queue(q);
		}
		WARN_ON(atomic_read(&hb->waiters));
	}
}

/* Make the same random queues in both worlds. */
static void fill(void)
{
	int nr = 1 + below(NR_WAITERS), nr_prios = 1 + below(3);
	int one_elsewhere_in = 1 + below(2) * below(NR_WAITERS);
	int one_strange_in = 1 + below(2) * below(NR_WAITERS);
	int most = below(NR_WORDS), nr_buckets = 1 + below(NR_PRIVATE);

	for (world = worlds; world < worlds + 2; world++)
		empty(nr_buckets);
	while (nr--) {
		int word = below(one_elsewhere_in) == 1 ? below(NR_WORDS) :
							  most;
		int kind = below(one_strange_in) == 1 ? below(NR_KINDS) : PLAIN;
		int prio = 10 * below(nr_prios);

		for (world = worlds; world < worlds + 2; world++)
			init(&world->waiters[world->nr_waiters++], word, prio,
			     kind);
	}
}

/* @mark: used if its val is not 0; @word: the value of the target */
struct call {
	int from, to;
	int nr_wake, nr_requeue;
	struct futex_mark mark;
	u32 word;
};

static struct call draw_call(void)
{
	return (struct call){
		.from = below(8) ? worlds[0].waiters[0].key.both.offset /
					   sizeof(u32) :
				   below(NR_WORDS),
		.to = below(NR_WORDS),
		.nr_wake = below(3) ? 0 : below(4),
		.nr_requeue = below(3) ? INT_MAX : below(NR_WAITERS),
		.mark = { .val = below(3) ? 0 : 2, .set = below(2) },
		.word = below(4),
	};
}

/*
 * Mainline has no marks. If a locked target is to be marked, the answer must be
 * that of a requeue that wakes none and moves all instead. The marked value is
 * left in @c->word.
 */
static int mark_and_requeue(struct call *c, u32 *from, u32 *to)
{
	int flags1 = futexes[c->from].flags, flags2 = futexes[c->to].flags;
	int nr_wake = c->nr_wake, nr_requeue = c->nr_requeue;
	struct futex_q *first;
	union futex_key key;

	if (c->mark.val) {
		if (from == to)
			return -EINVAL;
		get_futex_key(from, flags1, &key, FUTEX_READ);
		first = futex_top_waiter(bucket_of(&key), &key);
		if (first && first->bitset <= STAYS_QUEUED && c->word &&
		    (c->mark.set || c->word != c->mark.val)) {
			c->word = c->mark.set ? 2 : c->word | 2;
			if (nr_requeue < INT_MAX)
				nr_requeue += nr_wake;
			nr_wake = 0;
		}
	}
	return futex_requeue_mainline(from, flags1, to, flags2, nr_wake,
				      nr_requeue, NULL, 0, NULL);
}

static void make_call(struct call *c)
{
	u32 *from = &words[c->from], *to = &words[c->to];

	*to = c->word;
	world = &worlds[0];
	world->nr_woken = 0;
	world->answer = mark_and_requeue(c, from, to);
	world = &worlds[1];
	world->nr_woken = 0;
	world->answer = futex_requeue(from, futexes[c->from].flags, to,
				      futexes[c->to].flags, c->nr_wake,
				      c->nr_requeue, NULL, 0,
				      c->mark.val ? &c->mark : NULL);
	ASAN_UNPOISON_MEMORY_REGION(worlds, sizeof(worlds));
}

/* Do two pointers, which may be NULL, have the same place in their worlds? */
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

static const char *waiter_differs(struct futex_q *a, const struct futex_q *b)
{
	if (memcmp(&a->key, &b->key, sizeof(a->key)))
		return "a key";
	if (!same(a->lock_ptr, b->lock_ptr))
		return "a lock_ptr";
	world = &worlds[0];
	if (a->lock_ptr && a->lock_ptr != &bucket_of(&a->key)->lock)
		return "the bucket of its key";
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

static const char *buckets_differ(const struct world *a, const struct world *b)
{
	const char *what = NULL;

	for (int i = 0; i < nr_node_ids * NR_GLOBAL && !what; i++)
		what = bucket_differs(&a->global[i / NR_GLOBAL][i % NR_GLOBAL],
				      &b->global[i / NR_GLOBAL][i % NR_GLOBAL]);
	for (int i = 0; i < NR_PRIVATE && !what; i++)
		what = bucket_differs(&a->hash->buckets[i],
				      &b->hash->buckets[i]);
	return what;
}

/* Return: the thing that differs between the two worlds, or NULL. */
static const char *difference(void)
{
	struct world *a = &worlds[0], *b = &worlds[1];
	const char *what;

	if (a->answer != b->answer)
		return "the answer";
	if (a->hash->nr_refs || b->hash->nr_refs)
		return "references to the private hash";
	if (a->nr_woken != b->nr_woken ||
	    memcmp(a->woken, b->woken, a->nr_woken * sizeof(a->woken[0])))
		return "the woken waiters";
	if (a->nr_astray || b->nr_astray)
		return "a prefetch of something else than a waiter";
	what = buckets_differ(a, b);
	for (int i = 0; i < a->nr_waiters && !what; i++)
		what = waiter_differs(&a->waiters[i], &b->waiters[i]);
	return what;
}

/* Make a call, and at times resize the hash. Return: a difference, or NULL. */
static const char *one_call(void)
{
	struct call c = draw_call();
	const char *what;
	int nr_buckets;

	make_call(&c);
	what = words[c.to] == c.word ? difference() : "the target's word";
	if (what || below(4))
		return what;
	nr_buckets = 1 + below(NR_PRIVATE);
	for (world = worlds; world < worlds + 2; world++)
		resize(nr_buckets);
	return difference();
}

int main(int argc, char **argv)
{
	long nr_calls = argc > 1 ? atol(argv[1]) : 1000000;
	unsigned int seed = argc > 2 ? atol(argv[2]) : 1;
	long nr_moved = 0, nr_failed = 0;
	const char *what;

	srandom(seed);
	for (long i = 0; i < nr_calls; i++) {
		if (i % NR_CALLS == 0)
			fill();
		what = one_call();
		if (what) {
			fprintf(stderr,
				"requeue-agree %ld %u: the movers differ in %s\n",
				i + 1, seed, what);
			return 1;
		}
		nr_moved += worlds[0].answer > worlds[0].nr_woken;
		nr_failed += worlds[0].answer < 0;
	}
	printf("%ld calls, of which %ld moved waiters and %ld failed: no difference\n",
	       nr_calls, nr_moved, nr_failed);
	return nr_moved < nr_calls / 10 || nr_failed < nr_calls / 100;
}
