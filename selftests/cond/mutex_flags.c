// SPDX-License-Identifier: GPL-2.0-only
/*
 * drover_cond_t with drover_mutex_t of every kind, private and shared: in each
 * round everybody comes back, by broadcast with the mutex held or free, or by
 * signals; half of them with short deadlines of their own.
 */
#include <drover/cond.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "blocked.h"
#include "tap.h"

#define NR_THREADS 12
#define NR_ROUNDS  60

struct arena {
	drover_mutex_t mutex;
	drover_cond_t go, all_here;
	int round, here; /* [mutex] */
	int errors;	 /* [mutex] */
};

struct player {
	struct arena *arena;
	pthread_t thread;
	bool timed;
};

static int player_wait(struct player *player)
{
	struct arena *arena = player->arena;
	struct timespec soon;
	int err;

	if (!player->timed)
		return drover_cond_wait(&arena->go, &arena->mutex);
	soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS / 20);
	err = drover_cond_clockwait(&arena->go, &arena->mutex, CLOCK_MONOTONIC,
				    &soon);
	return err == ETIMEDOUT ? 0 : err;
}

static void *player_main(void *arg)
{
	struct player *player = arg;
	struct arena *arena = player->arena;
	int round = 0;

	drover_mutex_lock(&arena->mutex);
	while (round < NR_ROUNDS) {
		if (++arena->here == NR_THREADS)
			drover_cond_signal(&arena->all_here);
		while (arena->round == round)
			arena->errors += player_wait(player) != 0;
		round = arena->round;
	}
	drover_mutex_unlock(&arena->mutex);
	return NULL;
}

/* Signals alone would do only if no deadline brought anybody back twice. */
static void release_by_signals(struct arena *arena)
{
	for (int i = 0; i < NR_THREADS; i++) {
		drover_cond_signal(&arena->go);
		if (i % 2) {
			drover_mutex_unlock(&arena->mutex);
			drover_mutex_lock(&arena->mutex);
		}
	}
	drover_cond_broadcast(&arena->go);
}

/* One round; the mutex is held before and after. */
static void play(struct arena *arena)
{
	while (arena->here < NR_THREADS)
		arena->errors +=
			drover_cond_wait(&arena->all_here, &arena->mutex) != 0;
	arena->here = 0;
	arena->round++;
	switch (arena->round % 4) {
	case 0:
		drover_cond_broadcast(&arena->go);
		break;
	case 1:
		drover_cond_broadcast_on(&arena->go, &arena->mutex);
		break;
	case 2:
		drover_mutex_unlock(&arena->mutex);
		drover_cond_broadcast_on(&arena->go, &arena->mutex);
		drover_mutex_lock(&arena->mutex);
		break;
	default:
		release_by_signals(arena);
	}
}

static void test_rounds(uint32_t mutex_flags, uint32_t cond_flags)
{
	drover_mutexattr_t mutex = { .flags = mutex_flags };
	drover_condattr_t cond = { .flags = cond_flags };
	struct player players[NR_THREADS];
	struct arena arena = { 0 };

	watchdog("rounds with one kind of mutex");
	if (drover_mutex_init(&arena.mutex, &mutex) ||
	    drover_cond_init(&arena.go, &cond) ||
	    drover_cond_init(&arena.all_here, &cond))
		tap_bail("init with flags %#x", mutex_flags);
	for (int i = 0; i < NR_THREADS; i++) {
		players[i] = (struct player){ .arena = &arena, .timed = i % 2 };
		if (pthread_create(&players[i].thread, NULL, player_main,
				   &players[i]))
			tap_bail("no thread");
	}
	drover_mutex_lock(&arena.mutex);
	while (arena.round < NR_ROUNDS)
		play(&arena);
	/* The last ones are released, and perhaps queued on the mutex. */
	drover_cond_destroy_on(&arena.go, &arena.mutex);
	memset(&arena.go, 0xff, sizeof(arena.go));
	drover_mutex_unlock(&arena.mutex);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(players[i].thread, NULL);
	tap_is(arena.errors, 0, "%s condvar, mutex flags %#x: all come back",
	       cond_flags ? "shared" : "private", mutex_flags);
}

static void test_condattr(void)
{
	drover_condattr_t attr = { .flags = 0x80 };
	drover_cond_t cond;

	tap_is(drover_cond_init(&cond, &attr), EINVAL, "an unknown flag");
	attr = (drover_condattr_t){ .clock = CLOCK_PROCESS_CPUTIME_ID };
	tap_is(drover_cond_init(&cond, &attr), EINVAL, "an unusable clock");
}

static void test_clock(clockid_t clock)
{
	drover_mutex_t mutex = DROVER_MUTEX_INITIALIZER;
	drover_condattr_t attr = { .clock = clock };
	struct timespec soon = deadline_in(clock, NS_PER_MS);
	drover_cond_t cond;

	drover_cond_init(&cond, &attr);
	drover_mutex_lock(&mutex);
	tap_ok(drover_cond_timedwait(&cond, &mutex, &soon) == ETIMEDOUT &&
		       deadline_passed(clock, &soon),
	       "timedwait is on the attribute's clock %d", clock);
	drover_mutex_unlock(&mutex);
}

int main(void)
{
	const uint32_t kinds[] = {
		0,
		DROVER_MUTEX_RECURSIVE,
		DROVER_MUTEX_ERRORCHECK,
		DROVER_MUTEX_PI,
		DROVER_MUTEX_PI | DROVER_MUTEX_RECURSIVE,
		DROVER_MUTEX_ROBUST,
		DROVER_MUTEX_SHARED,
		DROVER_MUTEX_SHARED | DROVER_MUTEX_PI,
		DROVER_MUTEX_SHARED | DROVER_MUTEX_ROBUST,
	};
	const int nr_kinds = sizeof(kinds) / sizeof(kinds[0]);

	tap_plan(2 * nr_kinds + 4);
	for (int i = 0; i < nr_kinds; i++) {
		test_rounds(kinds[i], 0);
		test_rounds(kinds[i], DROVER_COND_SHARED);
	}
	test_condattr();
	test_clock(CLOCK_REALTIME);
	test_clock(CLOCK_MONOTONIC);
	return tap_exit();
}
