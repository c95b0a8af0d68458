// SPDX-License-Identifier: MIT
/*
 * items - a reader announces each item by a broadcast to all its workers, with
 * the mutex held. One worker takes the item and works on it.
 *
 * At most two items for each worker are put and not yet done.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "gate.h"
#include "until.h"

struct args {
	uint64_t threads, items, work_ns;
	bool await;
};

struct store {
	const struct args *args;
	struct gate gate;
	struct impl_mutex lock;
	struct impl_cond filled, emptied; /* with lock */
	uint64_t work;			  /* rounds of bench_work() */
	/* All under lock; the watchdog peeks. */
	_Atomic uint64_t put, taken, done;
};

/* Players are numbered; the first one is the reader. */
struct player {
	struct store *store;
	uint64_t index;
};

static bool has_room(void *arg)
{
	const struct store *store = arg;

	return get(&store->put) - get(&store->done) < 2 * store->args->threads;
}

static bool is_over(const struct store *store)
{
	return get(&store->taken) == store->args->items;
}

static bool has_item(void *arg)
{
	const struct store *store = arg;

	return get(&store->put) > get(&store->taken) || is_over(store);
}

static uint64_t read_all(struct store *store)
{
	uint64_t in_vain = 0;

	for (uint64_t i = 0; i < store->args->items; i++) {
		impl_mutex_lock(&store->lock);
		in_vain += until_true(&store->emptied, &store->lock,
				      store->args->await, has_room, store);
		impl_mutex_unlock(&store->lock);
		bench_work(store->work / 8);
		impl_mutex_lock(&store->lock);
		count_up(&store->put);
		impl_cond_broadcast(&store->filled);
		impl_mutex_unlock(&store->lock);
	}
	return in_vain;
}

static uint64_t work_on_all(struct store *store)
{
	uint64_t in_vain = 0;

	impl_mutex_lock(&store->lock);
	for (;;) {
		in_vain += until_true(&store->filled, &store->lock,
				      store->args->await, has_item, store);
		if (is_over(store))
			break;
		if (count_up(&store->taken) == store->args->items)
			impl_cond_broadcast(&store->filled);
		impl_mutex_unlock(&store->lock);
		bench_work(store->work);
		impl_mutex_lock(&store->lock);
		count_up(&store->done);
		impl_cond_signal(&store->emptied);
	}
	impl_mutex_unlock(&store->lock);
	return in_vain;
}

static void *player_main(void *arg)
{
	struct player *me = arg;
	uint64_t in_vain = 0;

	if (gate_enter(&me->store->gate))
		in_vain = me->index ? work_on_all(me->store) :
				      read_all(me->store);
	gate_leave(&me->store->gate, in_vain);
	return NULL;
}

static uint64_t progress(void *arg)
{
	struct store *store = arg;

	return get(&store->put) + get(&store->taken) + get(&store->done);
}

static void explain(void *arg)
{
	struct store *store = arg;

	bench_error("%" PRIu64 " of %" PRIu64 " items put, %" PRIu64 " taken",
		    get(&store->put), store->args->items, get(&store->taken));
}

static enum bench_exit play(struct bench_run *run, struct store *store,
			    struct player *players)
{
	struct bench_watch watch = { progress, explain, store };
	uint64_t nr = store->args->threads + 1;
	enum bench_exit status;

	for (uint64_t i = 0; i < nr; i++)
		players[i] = (struct player){ store, i };
	gate_init(&store->gate, nr);
	impl_mutex_init(&store->lock);
	impl_cond_init(&store->filled);
	impl_cond_init(&store->emptied);
	status = gate_run(run, &store->gate, &watch, player_main, players,
			  sizeof(*players));
	if (status == BENCH_OK && get(&store->done) != store->args->items)
		bench_wrong("%" PRIu64 " of %" PRIu64 " items done",
			    get(&store->done), store->args->items);
	impl_cond_destroy(&store->emptied);
	impl_cond_destroy(&store->filled);
	impl_mutex_destroy(&store->lock);
	gate_destroy(&store->gate);
	return status;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct store store = {
		.args = a,
		.work = bench_work_rounds(a->work_ns),
	};
	struct player *players;
	enum bench_exit status;

	if (!until_possible(a->await))
		return BENCH_FAILED;
	players = bench_alloc(a->threads + 1, sizeof(*players));
	if (!players)
		return BENCH_FAILED;
	status = play(run, &store, players);
	free(players);
	run->operations = a->items;
	run->futile = run->spurious; /* another worker was faster: allowed */
	run->spurious = 0;
	return status;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	fprintf(out,
		"%" PRIu64 " items for %" PRIu64
		" workers%s, %.3f returns in vain for each",
		a->items, a->threads, a->await ? ", with predicates" : "",
		(double)run->futile / (double)run->operations);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	(void)run;
	(void)args;
	bench_json_count(json, "work_ps", bench_work_cost());
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(1, "workers"),
	BENCH_REQUIRED_OPTION('i', items, 1, 1000000000, "ITEMS", "items"),
	BENCH_PRESET_OPTION('c', "work", work_ns, 0, 1000000000, "NS", 0,
			    "what an item takes a worker", .key = "section_ns"),
	BENCH_AWAIT_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "items",
	    .summary = "Announce each of ITEMS items to all THREADS workers.",
	    .operation = "item", .switches_key = "switches_per_item",
	    .json = json);
