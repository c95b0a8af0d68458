// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's futexes: wait, wake and requeue, as one step each. If the kernel
 * may do several things, there is a choice: to wake any sleeper (they may have
 * several priorities), to return early from a wait, or to let the time run out.
 *
 * A call is a full barrier at its beginning and its end. A wait compares the
 * word by a relaxed load, which may find an old value, but none older than what
 * a thread had stored before its last full barrier. A thread that is woken
 * knows what its waker knew.
 */
#include <limits.h>
#include <linux/futex.h>
#include <time.h>

#include "base/futex.h"
#include "engine.h"

#define EPOCH_NS (1000 * NS_PER_S) /* libc.c */

static int64_t ns_of(const struct timespec *at, int op)
{
	int64_t ns;

	if (!at)
		return INT64_MAX;
	ns = at->tv_sec * NS_PER_S + at->tv_nsec;
	return op & FUTEX_CLOCK_REALTIME ||
			       (op & FUTEX_CMD_MASK) == FUTEX_LOCK_PI ?
		       ns - EPOCH_NS :
		       ns;
}

int futex_sleepers(const uint32_t *word, bool shared, bool pi,
		   struct fiber **found)
{
	int nr = 0, at;

	for (struct fiber *f = fibers; f < fibers + MAX_THREADS; f++) {
		if (f->state != ASLEEP || f->asleep.word != word ||
		    f->asleep.shared != shared || f->asleep.pi != pi)
			continue;
		for (at = nr++;
		     at > 0 && found[at - 1]->asleep.turn > f->asleep.turn;
		     at--)
			found[at] = found[at - 1];
		found[at] = f;
	}
	return nr;
}

struct fiber *futex_choose(struct fiber **found, int nr)
{
	return found[scenario->flags & ANY_ORDER ? choose('w', nr) : 0];
}

void futex_wake_one(struct fiber *f, long ret)
{
	tell(caller_pc, "wakes thread %d", nr_of(f));
	memory_tell(f, self);
	wake_up(f, ret);
}

long futex_sleep(uint32_t *word)
{
	const void *pc = caller_pc;

	self->asleep.word = self->asleep.began = word;
	self->state = ASLEEP;
	tell(caller_pc, "sleeps on %s", name_of(word));
	fall_asleep();
	caller_pc = pc;
	tell(caller_pc, "wakes up with %ld", self->asleep.ret);
	if (self->asleep.ret == THREAD_ENDS)
		fiber_exit();
	return self->asleep.ret;
}

static long futex_wait_call(uint32_t *word, uint32_t value, int64_t deadline,
			    uint32_t bits, uint32_t *target, bool shared)
{
	/*
	 * Requeue-PI does not return 0 early: its 0 says that the caller has
	 * the mutex.
	 */
	static const long early[] = { 0, -EINTR, -EAGAIN, 0 };
	int way;

	check_given_back(word);
	if ((uint32_t)memory_load(word, 4, __ATOMIC_RELAXED) != value)
		return -EAGAIN;
	if (deadline <= clock_ns)
		return -ETIMEDOUT;
	way = scenario->flags & SPURIOUS ? choose('e', target ? 3 : 4) : 0;
	if (way) {
		tell(caller_pc, "does not sleep: %ld", early[way]);
		return early[way];
	}
	self->asleep.bits = bits;
	self->asleep.shared = shared;
	self->asleep.pi = false;
	self->asleep.target = target;
	self->asleep.deadline = deadline;
	return futex_sleep(word);
}

static long futex_wake_call(const uint32_t *word, int most, uint32_t bits,
			    bool shared)
{
	struct fiber *found[MAX_THREADS];
	long nr_woken = 0;

	while (nr_woken < most) {
		int all = futex_sleepers(word, shared, false, found), nr = 0;

		for (int i = 0; i < all; i++) {
			if (found[i]->asleep.target)
				return -EINVAL;
			if (found[i]->asleep.bits & bits)
				found[nr++] = found[i];
		}
		if (!nr)
			break;
		futex_wake_one(futex_choose(found, nr), 0);
		nr_woken++;
	}
	tell(caller_pc, "has woken %ld on %s", nr_woken, name_of(word));
	return nr_woken;
}

/* The kernel may have no requeue, or a sandbox may refuse it from now on. */
static long refuse_requeue(void)
{
	static const long refusals[] = { 0, -EAGAIN, -ENOSYS, -EPERM };
	int way = scenario->flags & SPURIOUS ? choose('e', 4) : 0;

	if (way)
		tell(caller_pc, "is refused: %ld", refusals[way]);
	return refusals[way];
}

static long futex_requeue_call(uint32_t *word, uint32_t value, int nr_wake,
			       int nr_move, uint32_t *target, bool shared)
{
	struct fiber *found[MAX_THREADS];
	long nr_moved = 0, nr_woken;
	int nr;

	check_given_back(word);
	if ((uint32_t)memory_load(word, 4, __ATOMIC_RELAXED) != value)
		return -EAGAIN;
	nr_woken = refuse_requeue();
	if (!nr_woken)
		nr_woken = futex_wake_call(word, nr_wake,
					   FUTEX_BITSET_MATCH_ANY, shared);
	if (nr_woken < 0)
		return nr_woken;
	while (nr_moved < nr_move &&
	       (nr = futex_sleepers(word, shared, false, found))) {
		struct fiber *f = futex_choose(found, nr);

		f->asleep.word = target;
		f->asleep.turn = fiber_turn();
		tell(caller_pc, "moves thread %d to %s", nr_of(f),
		     name_of(target));
		nr_moved++;
	}
	return nr_woken + nr_moved;
}

static long futex_do(uint32_t *word, int op, uint32_t value, const void *arg4,
		     uint32_t *word2, uint32_t value3)
{
	bool shared = !(op & FUTEX_PRIVATE_FLAG);
	int number = (int)(uintptr_t)arg4;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_BITSET:
		return futex_wait_call(word, value, ns_of(arg4, op), value3,
				       NULL, shared);
	case FUTEX_WAIT_REQUEUE_PI:
		return futex_wait_call(word, value, ns_of(arg4, op),
				       FUTEX_BITSET_MATCH_ANY, word2, shared);
	case FUTEX_WAKE:
		return futex_wake_call(word, (int)value, FUTEX_BITSET_MATCH_ANY,
				       shared);
	case FUTEX_WAKE_BITSET:
		return futex_wake_call(word, (int)value, value3, shared);
	case FUTEX_CMP_REQUEUE:
		return futex_requeue_call(word, value3, (int)value, number,
					  word2, shared);
	case FUTEX_CMP_REQUEUE_PI:
		return futex_requeue_pi_call(word, value3, number, word2);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return futex_lock_pi_call(word, ns_of(arg4, op), shared);
	case FUTEX_UNLOCK_PI:
		return futex_unlock_pi_call(word);
	}
	fault("futex operation %d is unknown", op & FUTEX_CMD_MASK);
}

long raw_futex_call(futex_word *word, int op, uint32_t value, const void *arg4,
		    futex_word *word2, uint32_t value3)
{
	long ret = -EPERM;

	if (!quiet) {
		caller_pc = __builtin_return_address(0);
		self->at = (const char *)word;
		step(true);
		caller_pc = __builtin_return_address(0);
		memory_fence();
		ret = futex_do((uint32_t *)word, op, value, arg4,
			       (uint32_t *)word2, value3);
		memory_fence();
	}
	if (ret < 0) {
		errno = (int)-ret;
		ret = -1;
	}
	return ret;
}
