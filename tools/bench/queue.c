// SPDX-License-Identifier: MIT
/*
 * queue - a bounded buffer between producers and consumers, with one mutex and
 * one condition variable for each side. For each item there is a signal with
 * the mutex held, or with -u after it is unlocked.
 *
 * The items are numbered, so that an item that is lost or delivered twice
 * shows.
 */
#include <stdlib.h>
#include <inttypes.h>

#include "gate.h"
#include "until.h"

struct args {
	uint64_t producers, consumers, items, capacity;
	bool latency, await, unlocked;
};

struct item {
	uint64_t number, stamp;
};

struct queue {
	const struct args *args;
	struct gate gate;
	struct impl_mutex lock;
	struct impl_cond filled, emptied; /* with lock */
	/* All under lock; the watchdog peeks at the counts. */
	struct item *items;
	_Atomic uint64_t put, got;
	uint64_t sum;		       /* of the numbers of items got */
	struct bench_latency *latency; /* from put to got; or NULL */
};

/* A thread of either side. Threads are numbered, producers first. */
struct worker {
	struct queue *queue;
	uint64_t index;
};

static uint64_t total(const struct args *args)
{
	return args->producers * args->items;
}

static bool has_room(void *arg)
{
	struct queue *queue = arg;

	return get(&queue->put) - get(&queue->got) < queue->args->capacity;
}

static bool is_empty(struct queue *queue)
{
	return get(&queue->put) == get(&queue->got);
}

static bool has_item_or_ends(void *arg)
{
	struct queue *queue = arg;

	return !is_empty(queue) || get(&queue->got) == total(queue->args);
}

static struct item *slot(struct queue *queue, uint64_t position)
{
	return &queue->items[position % queue->args->capacity];
}

static void call(struct impl_cond *cond, bool all)
{
	if (all)
		impl_cond_broadcast(cond);
	else
		impl_cond_signal(cond);
}

/* Called with the lock held. */
static void call_and_unlock(struct queue *queue, struct impl_cond *cond,
			    bool all)
{
	if (!queue->args->unlocked)
		call(cond, all);
	impl_mutex_unlock(&queue->lock);
	if (queue->args->unlocked)
		call(cond, all);
}

/* Returns how often a wait returned while the queue was full again. */
static uint64_t produce(struct queue *queue, uint64_t number)
{
	uint64_t again;

	impl_mutex_lock(&queue->lock);
	again = until_true(&queue->emptied, &queue->lock, queue->args->await,
			   has_room, queue);
	*slot(queue, get(&queue->put)) =
		(struct item){ number, queue->latency ? bench_now_ns() : 0 };
	count_up(&queue->put);
	call_and_unlock(queue, &queue->filled, false);
	return again;
}

/* Called with the lock held. Returns whether this was the last item. */
static bool take(struct queue *queue)
{
	struct item *item = slot(queue, get(&queue->got));

	queue->sum += item->number;
	if (queue->latency)
		bench_latency_add(queue->latency, bench_now_ns() - item->stamp);
	return count_up(&queue->got) == total(queue->args);
}

/* False: all items have been taken. */
static bool consume(struct queue *queue, uint64_t *again)
{
	impl_mutex_lock(&queue->lock);
	*again += until_true(&queue->filled, &queue->lock, queue->args->await,
			     has_item_or_ends, queue);
	if (is_empty(queue)) {
		impl_mutex_unlock(&queue->lock);
		return false;
	}
	if (take(queue)) /* the consumers end */
		call_and_unlock(queue, &queue->filled, true);
	else
		call_and_unlock(queue, &queue->emptied, false);
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *me = arg;
	struct queue *queue = me->queue;
	const struct args *args = queue->args;
	uint64_t again = 0;

	if (gate_enter(&queue->gate)) {
		if (me->index < args->producers)
			for (uint64_t i = 0; i < args->items; i++)
				again += produce(queue,
						 me->index * args->items + i);
		else
			while (consume(queue, &again))
				;
	}
	gate_leave(&queue->gate, again);
	return NULL;
}

static uint64_t progress(void *arg)
{
	struct queue *queue = arg;

	return get(&queue->put) + get(&queue->got);
}

static void explain(void *arg)
{
	struct queue *queue = arg;

	bench_error("%" PRIu64 " of %" PRIu64 " items put, %" PRIu64 " taken",
		    get(&queue->put), total(queue->args), get(&queue->got));
}

static void check(const struct queue *queue)
{
	uint64_t n = total(queue->args);

	/* The product wraps at 2^64, as the sum does. */
	if (queue->sum != (n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1)))
		bench_wrong("the numbers of all items do not add up");
}

static enum bench_exit play(struct bench_run *run, struct queue *queue,
			    struct worker *workers)
{
	struct bench_watch watch = { progress, explain, queue };
	uint64_t players = queue->args->producers + queue->args->consumers;
	enum bench_exit status;

	for (uint64_t i = 0; i < players; i++)
		workers[i] = (struct worker){ queue, i };
	gate_init(&queue->gate, players);
	impl_mutex_init(&queue->lock);
	impl_cond_init(&queue->filled);
	impl_cond_init(&queue->emptied);
	status = gate_run(run, &queue->gate, &watch, worker_main, workers,
			  sizeof(*workers));
	if (status == BENCH_OK)
		check(queue);
	impl_cond_destroy(&queue->emptied);
	impl_cond_destroy(&queue->filled);
	impl_mutex_destroy(&queue->lock);
	gate_destroy(&queue->gate);
	run->operations = total(queue->args);
	run->futile = run->spurious; /* another thread was faster: allowed */
	run->spurious = 0;
	run->latency = queue->latency;
	return status;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct queue queue = { .args = a };
	struct worker *workers =
		bench_alloc(a->producers + a->consumers, sizeof(*workers));
	enum bench_exit status = BENCH_FAILED;

	if (!until_possible(a->await)) {
		free(workers);
		return BENCH_FAILED;
	}
	queue.items = bench_alloc(a->capacity, sizeof(*queue.items));
	if (workers && queue.items &&
	    bench_latency_new(&queue.latency, a->latency))
		status = play(run, &queue, workers);
	free(queue.items);
	free(workers);
	return status;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out,
		"%" PRIu64 " items from %" PRIu64 " to %" PRIu64 " threads",
		total(a), a->producers, a->consumers);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;

	(void)run;
	bench_json_count(json, "threads", a->producers + a->consumers);
}

static const struct bench_option options[] = {
	BENCH_REQUIRED_OPTION('p', producers, 1, 500000, "PRODUCERS",
			      "threads that put items in"),
	BENCH_REQUIRED_OPTION('c', consumers, 1, 500000, "CONSUMERS",
			      "threads that take them out"),
	BENCH_REQUIRED_OPTION('i', items, 1, 1000000000, "ITEMS",
			      "items of each producer"),
	BENCH_REQUIRED_OPTION('q', capacity, 1, 1000000, "CAPACITY",
			      "items that fit into the queue"),
	BENCH_FLAG_OPTION('u', "unlocked", unlocked,
			  "signal when the mutex is unlocked",
			  .key = "unlocked"),
	BENCH_AWAIT_OPTION,
	BENCH_LATENCY_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "queue",
	    .summary =
		    "Pass items from PRODUCERS to CONSUMERS by a bounded queue.",
	    .operation = "item", .switches_key = "switches_per_item",
	    .json = json);
