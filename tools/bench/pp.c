// SPDX-License-Identifier: MIT
/*
 * pp - ping-pong: many games of two threads each.
 *
 * A game has one mutex, and each of its two players has a condition variable.
 * The players hand a ball back and forth. One broadcast starts all games
 * (gate.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "gate.h"

struct args {
	uint64_t games, iterations;
	bool latency;
};

struct game {
	_Alignas(64) struct impl_mutex lock;
	struct impl_cond turn[2]; /* with lock: one for each player */
	unsigned int ball;	  /* lock: the player who has it */
	/* How often the ball was handed over: lock; the watchdog peeks. */
	_Atomic uint64_t handed;
	uint64_t thrown;	       /* lock: time of the last hand-over */
	struct bench_latency *latency; /* lock: from then to the catch */
};

struct pp {
	const struct args *args;
	struct game *games;
	struct gate gate;
};

struct player {
	struct pp *pp;
	struct game *game;
	unsigned int side;
};

/* The caller holds the game's lock, and has just got the ball. */
static void note_latency(struct game *game)
{
	if (game->latency && game->thrown)
		bench_latency_add(game->latency, bench_now_ns() - game->thrown);
}

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
		note_latency(game);
		game->ball = other;
		set(&game->handed, 2 * i + me + 1);
		if (game->latency)
			game->thrown = bench_now_ns();
		impl_cond_signal(&game->turn[other]);
	}
	impl_mutex_unlock(&game->lock);
	return spurious;
}

static void *player_main(void *arg)
{
	struct player *me = arg;
	struct pp *pp = me->pp;
	uint64_t spurious = 0;

	if (gate_enter(&pp->gate))
		spurious = play(me->game, me->side, pp->args->iterations);
	gate_leave(&pp->gate, spurious);
	return NULL;
}

static uint64_t hand_offs(const struct pp *pp)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < pp->args->games; i++)
		sum += get(&pp->games[i].handed);
	return sum;
}

static uint64_t progress(void *arg)
{
	return hand_offs(arg);
}

static void explain(void *arg)
{
	struct pp *pp = arg;
	uint64_t per_game = 2 * pp->args->iterations;
	uint64_t unfinished = 0;

	for (uint64_t i = 0; i < pp->args->games; i++)
		unfinished += get(&pp->games[i].handed) != per_game;
	bench_error("%" PRIu64 " of %" PRIu64 " games unfinished, %" PRIu64
		    " of %" PRIu64 " hand-offs done",
		    unfinished, pp->args->games, hand_offs(pp),
		    per_game * pp->args->games);
}

static void set_up(struct pp *pp, struct player *players,
		   struct bench_latency *latencies)
{
	for (uint64_t i = 0; i < pp->args->games; i++) {
		struct game *game = &pp->games[i];

		impl_mutex_init(&game->lock);
		game->latency = latencies ? &latencies[i] : NULL;
		for (unsigned int side = 0; side < 2; side++) {
			impl_cond_init(&game->turn[side]);
			players[2 * i + side] =
				(struct player){ pp, game, side };
		}
	}
	gate_init(&pp->gate, 2 * pp->args->games);
}

static void tear_down(struct pp *pp)
{
	gate_destroy(&pp->gate);
	for (uint64_t i = 0; i < pp->args->games; i++) {
		impl_cond_destroy(&pp->games[i].turn[0]);
		impl_cond_destroy(&pp->games[i].turn[1]);
		impl_mutex_destroy(&pp->games[i].lock);
	}
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct pp pp = { .args = args };
	struct bench_watch watch = { progress, explain, &pp };
	uint64_t games = pp.args->games;
	struct player *players = bench_alloc(2 * games, sizeof(*players));
	struct bench_latency *latencies = NULL;
	enum bench_exit status = BENCH_FAILED;

	pp.games = players ? bench_alloc(games, sizeof(*pp.games)) : NULL;
	if (pp.games && pp.args->latency)
		latencies = bench_alloc(games, sizeof(*latencies));
	if (pp.games && (latencies || !pp.args->latency)) {
		set_up(&pp, players, latencies);
		status = gate_run(run, &pp.gate, &watch, player_main, players,
				  sizeof(*players));
		tear_down(&pp);
	}
	run->operations = 2 * games * pp.args->iterations;
	for (uint64_t i = 1; latencies && i < games; i++)
		bench_latency_merge(&latencies[0], &latencies[i]);
	run->latency = latencies;
	free(pp.games);
	free(players);
	return status;
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
	bench_json_count(json, "threads", 2 * a->games);
}

static const struct bench_option options[] = {
	BENCH_REQUIRED_OPTION('n', games, 1, 500000, "GAMES",
			      "games of two threads each"),
	BENCH_REQUIRED_OPTION('i', iterations, 1, 1000000000, "ITERATIONS",
			      "times each player hands the ball over"),
	BENCH_LATENCY_OPTION,
	{ 0 }
};

BENCH_SUITE(.name = "pp",
	    .summary = "Play GAMES games of ping-pong, two threads each.",
	    .operation = "hand-off", .switches_key = "switches_per_handoff",
	    .json = json);
