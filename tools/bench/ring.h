/* SPDX-License-Identifier: MIT */
/* Threads that take turns, for suites that differ in how the threads wait. */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "gate.h"

#define RING_FAR_SECONDS 1000

struct ring_seat {
	_Alignas(64) struct ring *ring;
	uint64_t index;
	struct impl_cond mine; /* with ring->lock: it is this seat's turn */
};

struct ring {
	struct gate gate;
	struct impl_mutex lock;
	struct impl_cond any; /* with lock: it is another thread's turn */
	struct ring_seat *seats;
	uint64_t threads, turns; /* turns: of each thread */
	bool broadcast; /* one condition variable for all, and broadcasts */
	bool timed;	/* every wait has a deadline, which is far away */
	/* Turns taken: under lock; the watchdog peeks. */
	_Atomic uint64_t taken;
	uint64_t stamp;		       /* lock: when the last turn ended */
	struct bench_latency *latency; /* lock: from then to a turn; or NULL */
};

static struct impl_cond *ring_cond(struct ring *ring, uint64_t index)
{
	return ring->broadcast ? &ring->any : &ring->seats[index].mine;
}

static void ring_wait(struct ring *ring, struct impl_cond *cond,
		      const struct timespec *far)
{
	if (!ring->timed)
		impl_cond_wait(cond, &ring->lock);
	else if (impl_cond_timedwait(cond, &ring->lock, far))
		bench_wrong("a wait ended %d s before its time",
			    RING_FAR_SECONDS);
}

/* Called with the lock held. Returns how often a wait returned out of turn. */
static uint64_t ring_take_turn(struct ring *ring, uint64_t me,
			       const struct timespec *far)
{
	uint64_t next = (me + 1) % ring->threads, early = 0;

	while (get(&ring->taken) % ring->threads != me) {
		ring_wait(ring, ring_cond(ring, me), far);
		early += get(&ring->taken) % ring->threads != me;
	}
	if (ring->latency && get(&ring->taken))
		bench_latency_add(ring->latency, bench_now_ns() - ring->stamp);
	count_up(&ring->taken);
	if (ring->latency)
		ring->stamp = bench_now_ns();
	if (ring->broadcast)
		impl_cond_broadcast(&ring->any);
	else
		impl_cond_signal(ring_cond(ring, next));
	return early;
}

static void *ring_main(void *arg)
{
	struct ring_seat *seat = arg;
	struct ring *ring = seat->ring;
	struct timespec far;
	uint64_t early = 0;

	clock_gettime(CLOCK_REALTIME, &far);
	far.tv_sec += RING_FAR_SECONDS;
	if (gate_enter(&ring->gate)) {
		impl_mutex_lock(&ring->lock);
		for (uint64_t i = 0; i < ring->turns; i++)
			early += ring_take_turn(ring, seat->index, &far);
		impl_mutex_unlock(&ring->lock);
	}
	gate_leave(&ring->gate, early);
	return NULL;
}

static uint64_t ring_progress(void *arg)
{
	struct ring *ring = arg;

	return get(&ring->taken);
}

static void ring_explain(void *arg)
{
	struct ring *ring = arg;

	bench_error("%" PRIu64 " of %" PRIu64 " turns taken", get(&ring->taken),
		    ring->threads * ring->turns);
}

/* The caller has set @ring's threads, turns and kind of waiting. */
static enum bench_exit ring_run(struct bench_run *run, struct ring *ring)
{
	struct bench_watch watch = { ring_progress, ring_explain, ring };
	enum bench_exit status;

	ring->seats = bench_alloc(ring->threads, sizeof(*ring->seats));
	if (!ring->seats)
		return BENCH_FAILED;
	gate_init(&ring->gate, ring->threads);
	impl_mutex_init(&ring->lock);
	impl_cond_init(&ring->any);
	for (uint64_t i = 0; i < ring->threads; i++) {
		ring->seats[i].ring = ring;
		ring->seats[i].index = i;
		impl_cond_init(&ring->seats[i].mine);
	}
	status = gate_run(run, &ring->gate, &watch, ring_main, ring->seats,
			  sizeof(*ring->seats));
	for (uint64_t i = 0; i < ring->threads; i++)
		impl_cond_destroy(&ring->seats[i].mine);
	impl_cond_destroy(&ring->any);
	impl_mutex_destroy(&ring->lock);
	gate_destroy(&ring->gate);
	free(ring->seats);
	run->operations = ring->threads * ring->turns;
	run->latency = ring->latency;
	if (ring->broadcast) { /* a broadcast wakes all: no fault */
		run->futile = run->spurious;
		run->spurious = 0;
	}
	return status;
}

#endif
