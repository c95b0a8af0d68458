// SPDX-License-Identifier: MIT
/*
 * turn-random - threads that take turns in a random order, under one mutex.
 *
 * All threads share one condition variable, and each turn begins with a
 * broadcast, although only one thread's predicate is true. With -s each thread
 * has a condition variable of its own, which is signalled.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "gate.h"
#include "until.h"

struct args {
	uint64_t threads, turns;
	bool separate, await;
};

struct seat {
	_Alignas(64) struct game *game;
	uint64_t index;
	struct impl_cond mine; /* with game->lock: it is this seat's turn */
};

struct game {
	const struct args *args;
	struct gate gate;
	struct impl_mutex lock;
	struct impl_cond any; /* with lock: it is another thread's turn */
	struct seat *seats;
	/* All under lock; the watchdog peeks at taken. */
	_Atomic uint64_t taken;
	uint64_t next; /* the seat whose turn it is */
	uint64_t random;
};

static bool is_over(const struct game *game)
{
	return get(&game->taken) == game->args->turns;
}

static bool may_go_on(void *arg)
{
	const struct seat *seat = arg;

	return seat->game->next == seat->index || is_over(seat->game);
}

/* xorshift64: the same order in each run. */
static uint64_t draw(struct game *game)
{
	game->random ^= game->random << 13;
	game->random ^= game->random >> 7;
	game->random ^= game->random << 17;
	return game->random;
}

static void call(struct game *game, uint64_t seat)
{
	if (game->args->separate)
		impl_cond_signal(&game->seats[seat].mine);
	else
		impl_cond_broadcast(&game->any);
}

/*
 * The turn of @seat is over, and another seat's begins. The caller holds the
 * lock.
 */
static void hand_over(struct game *game, const struct seat *seat)
{
	uint64_t others = game->args->threads - 1;

	count_up(&game->taken);
	game->next =
		(seat->index + 1 + draw(game) % others) % game->args->threads;
	if (!is_over(game) || !game->args->separate)
		call(game, game->next);
	else
		for (uint64_t i = 0; i < game->args->threads; i++)
			call(game, i);
}

static void *seat_main(void *arg)
{
	struct seat *seat = arg;
	struct game *game = seat->game;
	struct impl_cond *cond = game->args->separate ? &seat->mine :
							&game->any;
	uint64_t in_vain = 0;

	if (gate_enter(&game->gate)) {
		impl_mutex_lock(&game->lock);
		while (!is_over(game)) {
			in_vain += until_true(cond, &game->lock,
					      game->args->await, may_go_on,
					      seat);
			if (!is_over(game))
				hand_over(game, seat);
		}
		impl_mutex_unlock(&game->lock);
	}
	gate_leave(&game->gate, in_vain);
	return NULL;
}

static uint64_t progress(void *arg)
{
	struct game *game = arg;

	return get(&game->taken);
}

static void explain(void *arg)
{
	struct game *game = arg;

	bench_error("%" PRIu64 " of %" PRIu64 " turns taken", get(&game->taken),
		    game->args->turns);
}

static enum bench_exit play(struct bench_run *run, struct game *game)
{
	struct bench_watch watch = { progress, explain, game };
	uint64_t threads = game->args->threads;
	enum bench_exit status;

	gate_init(&game->gate, threads);
	impl_mutex_init(&game->lock);
	impl_cond_init(&game->any);
	for (uint64_t i = 0; i < threads; i++) {
		game->seats[i].game = game;
		game->seats[i].index = i;
		impl_cond_init(&game->seats[i].mine);
	}
	status = gate_run(run, &game->gate, &watch, seat_main, game->seats,
			  sizeof(*game->seats));
	for (uint64_t i = 0; i < threads; i++)
		impl_cond_destroy(&game->seats[i].mine);
	impl_cond_destroy(&game->any);
	impl_mutex_destroy(&game->lock);
	gate_destroy(&game->gate);
	return status;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	const struct args *a = args;
	struct game game = { .args = a, .random = 88172645463325252 };
	enum bench_exit status;

	if (!until_possible(a->await))
		return BENCH_FAILED;
	game.seats = bench_alloc(a->threads, sizeof(*game.seats));
	if (!game.seats)
		return BENCH_FAILED;
	status = play(run, &game);
	free(game.seats);
	run->operations = a->turns;
	run->futile = run->spurious; /* a broadcast wakes all: no fault */
	run->spurious = 0;
	return status;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	fprintf(out,
		"%" PRIu64 " turns of %" PRIu64
		" threads%s%s, %.3f returns in vain for each",
		a->turns, a->threads,
		a->separate ? ", a condition variable each" : "",
		a->await ? ", with predicates" : "",
		(double)run->futile / (double)run->operations);
}

static const struct bench_option options[] = {
	BENCH_THREADS_OPTION(2, "threads"),
	BENCH_REQUIRED_OPTION('i', turns, 1, 1000000000, "TURNS",
			      "turns of all together"),
	BENCH_FLAG_OPTION('s', "separate", separate,
			  "a condition variable for each thread",
			  .key = "separate"),
	BENCH_AWAIT_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "turn-random",
	    .summary = "Let THREADS threads take TURNS turns in a random order.",
	    .operation = "turn", .switches_key = "switches_per_turn");
