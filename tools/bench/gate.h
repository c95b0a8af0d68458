/* SPDX-License-Identifier: MIT */
/*
 * For suites whose threads start together, do their part and end.
 *
 * All players first wait at the gate, and one broadcast lets them in. The time
 * runs from the broadcast until the last player has come out. The gate, like
 * the game, uses the implementation that is measured.
 */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include "bench.h"
#include "impl.h"
#include "peek.h"

struct gate {
	uint64_t players;

	struct impl_mutex lock;
	struct impl_cond open; /* with lock: the players wait on it */
	struct impl_cond main; /* with lock: the main thread waits on it */
	/* Counts of players, written under lock; the watchdog peeks. */
	_Atomic uint64_t ready, done;
	enum {
		GATE_WAIT,
		GATE_PLAY,
		GATE_LEAVE
	} call;		   /* lock */
	uint64_t spurious; /* lock */
	const struct bench_watch *game;
};

static void gate_init(struct gate *gate, uint64_t players)
{
	*gate = (struct gate){ .players = players };
	impl_mutex_init(&gate->lock);
	impl_cond_init(&gate->open);
	impl_cond_init(&gate->main);
}

static void gate_destroy(struct gate *gate)
{
	impl_cond_destroy(&gate->main);
	impl_cond_destroy(&gate->open);
	impl_mutex_destroy(&gate->lock);
}

/* A player's first call. False: there is no game; call gate_leave() next. */
static bool gate_enter(struct gate *gate)
{
	bool playing;

	impl_mutex_lock(&gate->lock);
	if (count_up(&gate->ready) == gate->players)
		impl_cond_signal(&gate->main);
	while (gate->call == GATE_WAIT)
		impl_cond_wait(&gate->open, &gate->lock);
	playing = gate->call == GATE_PLAY;
	impl_mutex_unlock(&gate->lock);
	return playing;
}

/* A player's last call. */
static void gate_leave(struct gate *gate, uint64_t spurious)
{
	impl_mutex_lock(&gate->lock);
	gate->spurious += spurious;
	if (count_up(&gate->done) == gate->players)
		impl_cond_signal(&gate->main);
	impl_mutex_unlock(&gate->lock);
}

static void gate_measure(struct bench_run *run, struct gate *gate)
{
	impl_mutex_lock(&gate->lock);
	while (get(&gate->ready) < gate->players)
		impl_cond_wait(&gate->main, &gate->lock);
	bench_begin(run);
	gate->call = GATE_PLAY;
	impl_cond_broadcast(&gate->open);
	while (get(&gate->done) < gate->players)
		impl_cond_wait(&gate->main, &gate->lock);
	bench_end(run);
	run->spurious = gate->spurious;
	impl_mutex_unlock(&gate->lock);
}

static void gate_send_home(struct gate *gate)
{
	impl_mutex_lock(&gate->lock);
	gate->call = GATE_LEAVE;
	impl_cond_broadcast(&gate->open);
	impl_mutex_unlock(&gate->lock);
}

static uint64_t gate_progress(void *arg)
{
	struct gate *gate = arg;

	return get(&gate->ready) + gate->game->progress(gate->game->arg) +
	       get(&gate->done);
}

static void gate_explain(void *arg)
{
	struct gate *gate = arg;

	gate->game->explain(gate->game->arg);
}

/*
 * The whole run: start the players, measure, and wait until they have ended.
 * Each player calls @main with its element of @players, which lie @stride bytes
 * apart. @game tells the watchdog about the game without the gate.
 */
static enum bench_exit gate_run(struct bench_run *run, struct gate *gate,
				const struct bench_watch *game,
				void *(*main)(void *), void *players,
				size_t stride)
{
	struct bench_watch watch = { gate_progress, gate_explain, gate };
	struct bench_threads threads;
	bool started;

	gate->game = game;
	if (!bench_watchdog_start(&watch, run->common->watchdog))
		return BENCH_FAILED;
	started = bench_threads_start(&threads, gate->players,
				      run->common->stack, main, players,
				      stride);
	if (started)
		gate_measure(run, gate);
	else
		gate_send_home(gate);
	bench_threads_join(&threads);
	bench_watchdog_stop();
	return started ? BENCH_OK : BENCH_FAILED;
}

#endif
