// SPDX-License-Identifier: MIT
/*
 * pp - ping-pong: many games of two threads each.
 *
 * The two players of a game hand a ball back and forth through one mutex and
 * one condition variable each. All players first wait in the hall, and one
 * broadcast starts all games; the time runs from there until the last player
 * has come back.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"
#include "impl.h"

struct args {
	uint64_t games, iterations;
};

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

/* Called with the lock held that @value is written under. */
static uint64_t count_up(_Atomic uint64_t *value)
{
	set(value, get(value) + 1);
	return get(value);
}

struct game {
	_Alignas(64) struct impl_mutex lock;
	struct impl_cond turn[2]; /* with lock: one for each player */
	unsigned int ball;	  /* lock: the player who has it */
	/* Times the ball was handed over: under lock; the watchdog peeks. */
	_Atomic uint64_t handed;
};

struct hall {
	const struct args *args;
	struct game *games;

	struct impl_mutex lock;
	struct impl_cond start; /* with lock: the players wait here */
	struct impl_cond main;	/* with lock: the main thread, there */
	/* Players: written under lock; the watchdog peeks. */
	_Atomic uint64_t ready, done;
	enum {
		HALL_WAIT,
		HALL_PLAY,
		HALL_LEAVE
	} call;		   /* lock */
	uint64_t spurious; /* lock */
};

struct player {
	struct hall *hall;
	struct game *game;
	unsigned int side;
};

/* Returns how often a wait returned without the ball. */
static uint64_t play(struct game *game, unsigned int me, uint64_t iterations)
{
	unsigned int other = !me;
	uint64_t spurious = 0;

	impl_mutex_lock(&game->lock);
	for (uint64_t i = 0; i < iterations; i++) {
		if (game->ball != me)
			impl_cond_wait(&game->turn[me], &game->lock);
		while (game->ball != me) {
			spurious++;
			impl_cond_wait(&game->turn[me], &game->lock);
		}
		game->ball = other;
		set(&game->handed, 2 * i + me + 1);
		impl_cond_signal(&game->turn[other]);
	}
	impl_mutex_unlock(&game->lock);
	return spurious;
}

static void *player_main(void *arg)
{
	struct player *me = arg;
	struct hall *hall = me->hall;
	uint64_t players = 2 * hall->args->games;
	uint64_t spurious = 0;
	bool playing;

	impl_mutex_lock(&hall->lock);
	if (count_up(&hall->ready) == players)
		impl_cond_signal(&hall->main);
	while (hall->call == HALL_WAIT)
		impl_cond_wait(&hall->start, &hall->lock);
	playing = hall->call == HALL_PLAY;
	impl_mutex_unlock(&hall->lock);

	if (playing)
		spurious = play(me->game, me->side, hall->args->iterations);

	impl_mutex_lock(&hall->lock);
	hall->spurious += spurious;
	if (count_up(&hall->done) == players)
		impl_cond_signal(&hall->main);
	impl_mutex_unlock(&hall->lock);
	return NULL;
}

static void measure(struct bench_run *run, struct hall *hall)
{
	uint64_t players = 2 * hall->args->games;

	impl_mutex_lock(&hall->lock);
	while (get(&hall->ready) < players)
		impl_cond_wait(&hall->main, &hall->lock);
	bench_begin(run);
	hall->call = HALL_PLAY;
	impl_cond_broadcast(&hall->start);
	while (get(&hall->done) < players)
		impl_cond_wait(&hall->main, &hall->lock);
	bench_end(run);
	run->operations = players * hall->args->iterations;
	run->spurious = hall->spurious;
	impl_mutex_unlock(&hall->lock);
}

static void send_home(struct hall *hall)
{
	impl_mutex_lock(&hall->lock);
	hall->call = HALL_LEAVE;
	impl_cond_broadcast(&hall->start);
	impl_mutex_unlock(&hall->lock);
}

static uint64_t hand_offs(const struct hall *hall)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < hall->args->games; i++)
		sum += get(&hall->games[i].handed);
	return sum;
}

static uint64_t progress(void *arg)
{
	struct hall *hall = arg;

	return get(&hall->ready) + hand_offs(hall) + get(&hall->done);
}

static void explain(void *arg)
{
	struct hall *hall = arg;
	uint64_t per_game = 2 * hall->args->iterations;
	uint64_t unfinished = 0;

	for (uint64_t i = 0; i < hall->args->games; i++)
		unfinished += get(&hall->games[i].handed) != per_game;
	bench_error("%" PRIu64 " of %" PRIu64 " games unfinished, %" PRIu64
		    " of %" PRIu64 " hand-offs done",
		    unfinished, hall->args->games, hand_offs(hall),
		    per_game * hall->args->games);
}

static struct player *set_up(struct hall *hall)
{
	uint64_t games = hall->args->games;
	struct player *players = bench_alloc(2 * games, sizeof(*players));

	if (!players)
		return NULL;
	hall->games = bench_alloc(games, sizeof(*hall->games));
	if (!hall->games) {
		free(players);
		return NULL;
	}
	for (uint64_t i = 0; i < games; i++) {
		struct game *game = &hall->games[i];

		impl_mutex_init(&game->lock);
		for (unsigned int side = 0; side < 2; side++) {
			impl_cond_init(&game->turn[side]);
			players[2 * i + side] =
				(struct player){ hall, game, side };
		}
	}
	impl_mutex_init(&hall->lock);
	impl_cond_init(&hall->start);
	impl_cond_init(&hall->main);
	return players;
}

static void tear_down(struct hall *hall, struct player *players)
{
	impl_cond_destroy(&hall->main);
	impl_cond_destroy(&hall->start);
	impl_mutex_destroy(&hall->lock);
	for (uint64_t i = 0; i < hall->args->games; i++) {
		impl_cond_destroy(&hall->games[i].turn[0]);
		impl_cond_destroy(&hall->games[i].turn[1]);
		impl_mutex_destroy(&hall->games[i].lock);
	}
	free(hall->games);
	free(players);
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct hall hall = { .args = args };
	struct bench_watch watch = { progress, explain, &hall };
	struct bench_threads threads;
	struct player *players = set_up(&hall);
	bool started;

	if (!players)
		return BENCH_FAILED;
	started = bench_watchdog_start(&watch, run->common->watchdog);
	if (started) {
		started = bench_threads_start(&threads, 2 * hall.args->games,
					      run->common->stack, player_main,
					      players, sizeof(*players));
		if (started)
			measure(run, &hall);
		else
			send_home(&hall);
		bench_threads_join(&threads);
	}
	bench_watchdog_stop();
	tear_down(&hall, players);
	return started ? BENCH_OK : BENCH_FAILED;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " games", a->games);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;

	(void)run;
	bench_json_count(json, "games", a->games);
	bench_json_count(json, "iterations", a->iterations);
	bench_json_count(json, "threads", 2 * a->games);
}

static const struct bench_option options[] = {
	{ .letter = 'n',
	  .name = "games",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, games),
	  .min = 1,
	  .max = 500000,
	  .metavar = "GAMES",
	  .help = "games of two threads each" },
	{ .letter = 'i',
	  .name = "iterations",
	  .kind = BENCH_COUNT,
	  .required = true,
	  .offset = offsetof(struct args, iterations),
	  .min = 1,
	  .max = 1000000000,
	  .metavar = "ITERATIONS",
	  .help = "times each player hands the ball over" },
	{ 0 }
};

static const struct bench_suite suite = {
	.name = "pp",
	.summary = "Play GAMES games of ping-pong, two threads each.",
	.operation = "hand-off",
	.switches_key = "switches_per_handoff",
	.impl = &impl,
	.options = options,
	.args_size = sizeof(struct args),
	.run = run,
	.print = print,
	.json = json,
};

BENCH_SUITE(suite);
