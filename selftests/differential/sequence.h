/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sequence.h - one sequence of calls, drawn from its seed
 *
 * A sequence begins without waiters. It ends by wakes of one waiter at each
 * futex, which find all of them.
 */
#pragma once

#include "palette.h"

#define MAX_STEPS 96

static bool can_store(const struct place *place)
{
	return !place->pi && place != &places[PR] && place != &places[PX];
}

/* To be called before each call that wakes or moves. */
static void count_call(void)
{
	counts[NR_CALLS]++;
	if (nr_asleep() >= 2)
		counts[NR_BUSY_CALLS]++;
}

/*
 * To be called after each such call. A waiter that was woken although the
 * answer says that none was is found later, and so makes a difference.
 */
static int settle_after(long ret)
{
	return ret > 0 || ret == -EINVAL ? settle() : 0;
}

/* A thread or a request waits, as is drawn. */
static void begin_wait(struct sequence *s, const struct wait *wait)
{
	static const char *const kinds[] = { "plain", "vector", "requeue-pi",
					     "lock-pi" };
	int from = random_below(&s->random, NR_THREADS);
	int thread = thread_free(from), slot = slot_free(from);
	bool in_ring = wait->kind <= WAIT_VECTOR && ONE_IN(s, 6);

	if (in_ring ? slot < 0 : thread < 0)
		return;
	note("%s %d: wait, %s, %s %s, bits %x%s",
	     in_ring ? "request" : "thread", in_ring ? slot : thread,
	     kinds[wait->kind], wait->at->name,
	     wait->other ? wait->other->name : "", wait->bitset,
	     wait->timed ? ", timed" : "");
	if (in_ring)
		slot_wait(slot, wait);
	else
		thread_wait(thread, wait);
}

static void step_wait(struct sequence *s)
{
	struct wait wait = {
		.kind = WAIT_PLAIN,
		.at = pick(s, pick_shared(s)),
		.bitset = FUTEX_BITSET_MATCH_ANY,
		.timed = ONE_IN(s, 4),
	};

	if (ONE_IN(s, 6)) {
		wait.kind = WAIT_VECTOR;
		wait.other = pick(s, pick_shared(s));
	} else if (s->pi && ONE_IN(s, 3)) {
		const struct place *pi =
			&places[I0 + random_below(&s->random, 2)];
		bool locks = ONE_IN(s, 3);

		wait.timed = true;
		wait.kind = locks ? WAIT_LOCK_PI : WAIT_REQUEUE_PI;
		wait.at = locks ? pi : pick(s, false);
		wait.other = locks ? NULL : pi;
	} else if (ONE_IN(s, 4)) {
		wait.bitset = random_below(&s->random, 16);
	}
	wait.val = value_at(wait.at) + ONE_IN(s, 32);
	begin_wait(s, &wait);
}

/* The arguments of a requeue. */
struct requeue {
	const struct place *from, *to;
	uint32_t *from_addr, *to_addr; /* their addresses, or bad ones */
	int nr_wake, nr_requeue;
	uint32_t cmpval;
	bool good; /* only a PI waiter can make it fail */
};

static struct requeue pick_requeue(struct sequence *s)
{
	bool shared = pick_shared(s);
	struct requeue r = {
		.from = pick(s, shared),
		.to = pick(s, shared),
		.nr_wake = pick_count(s),
		.nr_requeue = pick_count(s),
	};

	r.from_addr = r.from->addr;
	r.to_addr = r.to->addr;
	r.cmpval = value_at(r.from) + ONE_IN(s, 16);
	r.good = r.nr_wake >= 0 && r.nr_requeue >= 0;
	if (ONE_IN(s, 32)) {
		r.from_addr = bad_address(&s->random, r.from->flags);
		r.good = false;
	}
	if (ONE_IN(s, 32)) {
		r.to_addr = bad_address(&s->random, r.to->flags);
		r.good = false;
	}
	return r;
}

/* futex_requeue(2) also takes futexes of different flags, to refuse them. */
static long requeue2(struct sequence *s, struct requeue *r)
{
	struct futex_waitv pair[2] = { { 0 } };

	if (ONE_IN(s, 16)) {
		r->to = pick(s, !(r->to->flags & FUTEX_PRIVATE_FLAG) ^
					ONE_IN(s, 2));
		r->to_addr = r->to->addr;
		r->good = false;
	}
	pair[0].uaddr = (uintptr_t)r->from_addr;
	pair[0].flags = FUTEX2_SIZE_U32 | r->from->flags;
	pair[0].val = r->cmpval;
	pair[1].uaddr = (uintptr_t)r->to_addr;
	pair[1].flags = FUTEX2_SIZE_U32 | r->to->flags;
	return sys_futex_requeue2(pair, ONE_IN(s, 64), r->nr_wake,
				  r->nr_requeue);
}

static long call_requeue(struct sequence *s, struct requeue *r)
{
	const struct requeue_op *by = &ONE_OF(s, requeue_ops);
	int nr_over;
	long ret;

	count_call();
	if (by->op)
		ret = sys_futex(r->from_addr, by->op | r->from->flags,
				r->nr_wake, r->nr_requeue, r->to_addr,
				r->cmpval);
	else
		ret = requeue2(s, r);
	note("%s %s%s to %s%s, %d %d: %ld", by->name, r->from->name,
	     r->from_addr == r->from->addr ? "" : "(bad)", r->to->name,
	     r->to_addr == r->to->addr ? "" : "(bad)", r->nr_wake,
	     r->nr_requeue, ret);
	nr_over = settle_after(ret);
	counts[NR_REQUEUES]++;
	counts[NR_MOVES] += ret > 0;
	counts[NR_SAME_BUCKET] += ret > 0 && r->from->bucket == r->to->bucket;
	counts[NR_PI_MET] += ret == -EINVAL && r->good;
	counts[NR_PI_MET_LATER] += ret == -EINVAL && r->good && nr_over;
	return ret;
}

/*
 * Waiters in a row, of which one in the middle is a PI waiter, and a call that
 * would move all: it must leave the PI waiter and those behind it alone.
 */
static void step_row(struct sequence *s)
{
	const struct place *at = &places[P0 + random_below(&s->random, 3)];
	int nr = 3 + random_below(&s->random, 4);
	int pi = 1 + random_below(&s->random, nr - 2);
	struct requeue r = { .from = at, .from_addr = at->addr, .good = true };

	for (int i = 0; i < nr; i++) {
		const struct wait wait = {
			.kind = i == pi ? WAIT_REQUEUE_PI : WAIT_PLAIN,
			.at = at,
			.other = i == pi ? &places[I0] : NULL,
			.bitset = FUTEX_BITSET_MATCH_ANY,
			.val = value_at(at),
			.timed = i == pi,
		};

		begin_wait(s, &wait);
	}
	r.to = pick(s, false);
	r.to_addr = r.to->addr;
	r.cmpval = value_at(at);
	r.nr_wake = random_below(&s->random, 2);
	r.nr_requeue = INT_MAX;
	if (call_requeue(s, &r) == -EINVAL && r.good)
		counts[NR_PI_BETWEEN]++;
}

static long call_wake(const struct place *at, int nr, uint32_t bitset)
{
	long ret;

	count_call();
	ret = sys_futex(at->addr, FUTEX_WAKE_BITSET | at->flags, nr, 0, NULL,
			bitset);
	note("WAKE %s, %d, bits %x: %ld", at->name, nr, bitset, ret);
	settle_after(ret);
	return ret;
}

static void step_wake(struct sequence *s)
{
	const struct place *at = pick(s, pick_shared(s));
	uint32_t bitset = FUTEX_BITSET_MATCH_ANY;

	if (ONE_IN(s, 3))
		bitset = random_below(&s->random, 16);
	call_wake(at, ONE_IN(s, 8) ? pick_count(s) : 1, bitset);
}

static void step_wake_op(struct sequence *s)
{
	bool shared = pick_shared(s);
	const struct place *at = pick(s, shared), *other = pick(s, shared);
	int op = FUTEX_OP(random_below(&s->random, 5),
			  random_below(&s->random, 2),
			  random_below(&s->random, 7),
			  random_below(&s->random, 2));
	int nr = random_below(&s->random, 3), nr2 = pick_count(s);
	long ret;

	if (other->pi)
		return;
	count_call();
	ret = sys_futex(at->addr, FUTEX_WAKE_OP | at->flags, nr, nr2,
			other->addr, op);
	note("WAKE_OP %s and %s, %x, %d %d: %ld", at->name, other->name, op, nr,
	     nr2, ret);
	settle_after(ret);
}

static long call_requeue_pi(const struct place *from, const struct place *pi,
			    int nr_wake, int nr_requeue, uint32_t cmpval)
{
	long ret;

	count_call();
	ret = sys_futex(from->addr, FUTEX_CMP_REQUEUE_PI | from->flags, nr_wake,
			nr_requeue, pi->addr, cmpval);
	note("CMP_REQUEUE_PI %s to %s, %d %d: %ld", from->name, pi->name,
	     nr_wake, nr_requeue, ret);
	settle();
	return ret;
}

static void step_requeue_pi(struct sequence *s)
{
	const struct place *from = pick(s, false);
	const struct place *pi = &places[I0 + random_below(&s->random, 2)];

	call_requeue_pi(from, pi, ONE_IN(s, 8) ? pick_count(s) : 1,
			pick_count(s), value_at(from) + ONE_IN(s, 16));
}

/* This thread takes a PI futex by a trylock, or gives it back. */
static void toggle_lock(struct sequence *s, int index)
{
	const struct place *pi = &places[I0 + index];
	int op = s->held[index] ? FUTEX_UNLOCK_PI : FUTEX_TRYLOCK_PI;
	long ret;

	counts[NR_CALLS]++;
	ret = sys_futex(pi->addr, op | pi->flags, 0, 0, NULL, 0);
	note("%s %s: %ld", s->held[index] ? "UNLOCK_PI" : "TRYLOCK_PI",
	     pi->name, ret);
	if (!ret)
		s->held[index] = !s->held[index];
	settle();
}

static void step_store(struct sequence *s)
{
	const struct place *at = pick(s, pick_shared(s));
	uint32_t value = random_below(&s->random, 2);

	if (!can_store(at))
		return;
	note("%s = %u", at->name, value);
	__atomic_store_n(at->addr, value, __ATOMIC_RELAXED);
}

static void step(struct sequence *s)
{
	struct requeue r;

	switch (random_below(&s->random, 41)) {
	case 0 ... 13:
		step_wait(s);
		break;
	case 14 ... 28:
		r = pick_requeue(s);
		call_requeue(s, &r);
		break;
	case 29 ... 31:
		step_wake(s);
		break;
	case 32:
		step_wake_op(s);
		break;
	case 33 ... 35:
		if (s->pi)
			step_requeue_pi(s);
		break;
	case 36:
		if (s->pi)
			step_row(s);
		break;
	case 37:
		if (s->pi)
			toggle_lock(s, random_below(&s->random, 2));
		break;
	case 38:
		thread_signal(random_below(&s->random, NR_THREADS),
			      ONE_IN(s, 3));
		break;
	case 39:
		slot_cancel(random_below(&s->random, NR_SLOTS));
		break;
	default:
		if (ONE_IN(s, 4))
			time_passes();
		else
			step_store(s);
	}
}

/* Find out which waiters are at each futex, and in what order. */
static void find_all(void)
{
	for (int i = 0; i < NR_PLACES; i++)
		while (call_wake(&places[i], 1, FUTEX_BITSET_MATCH_ANY) > 0)
			;
}

/* The note has the same meaning on every kernel. */
static void note_pi(const struct place *pi)
{
	uint32_t value = value_at(pi);

	note("%s: owner %d%s%s", pi->name,
	     value & FUTEX_TID_MASK ? own_number(value & FUTEX_TID_MASK) : -2,
	     value & FUTEX_WAITERS ? ", waiters" : "",
	     value & FUTEX_OWNER_DIED ? ", died" : "");
	__atomic_store_n(pi->addr, 0, __ATOMIC_RELAXED);
}

static void finish(struct sequence *s)
{
	find_all();
	/* Wakes do not find the waiters for PI futexes. */
	for (int i = 0; i < 2; i++)
		if (s->held[i])
			toggle_lock(s, i);
	for (int from = P0; s->pi && from <= PR; from++)
		for (int i = I0; i <= I1; i++)
			while (call_requeue_pi(&places[from], &places[i], 1, 0,
					       value_at(&places[from])) > 0)
				;
	if (s->pi)
		find_all();
	time_passes();
	for (int i = 0; i < NR_SLOTS; i++)
		slot_cancel(i);
	if (nr_asleep() || slot_free(0) != 0)
		find_all();
	if (nr_asleep())
		tap_bail("%d threads still wait after all wakes", nr_asleep());
	if (s->pi) {
		note_pi(&places[I0]);
		note_pi(&places[I1]);
	}
	for (int i = 0; i < NR_PLACES; i++)
		if (can_store(&places[i]))
			__atomic_store_n(places[i].addr, 0, __ATOMIC_RELAXED);
}

static void sequence_run(uint64_t seed)
{
	struct sequence s = { .random = seed };
	int nr_steps;

	random_next(&s.random);
	s.shared = ONE_IN(&s, 2);
	s.pi = !s.shared && ONE_IN(&s, 2);
	nr_steps = 8 + random_below(&s.random, MAX_STEPS);
	for (int i = 0; i < nr_steps; i++)
		step(&s);
	finish(&s);
}
