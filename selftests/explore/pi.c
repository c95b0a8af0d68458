// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's PI futexes, without the priorities: which thread holds a lock,
 * which threads wait for it, and how it is handed over.
 */
#include <linux/futex.h>

#include "engine.h"

static uint32_t tid_of(const struct fiber *f)
{
	return FIRST_TID + (uint32_t)nr_of(f);
}

/* The kernel changes the word under its own lock, so one step is enough. */
static uint32_t word_set(uint32_t *word, uint32_t to)
{
	return (uint32_t)memory_change(word, 4, SWAP, to, __ATOMIC_ACQ_REL);
}

static uint32_t word_get(uint32_t *word)
{
	return (uint32_t)memory_change(word, 4, OR, 0, __ATOMIC_ACQ_REL);
}

/* Take the lock for @f if it is free. */
static bool take_free(uint32_t *word, struct fiber *f)
{
	struct fiber *found[MAX_THREADS];
	uint32_t rest = futex_sleepers(word, f->asleep.shared, true, found) ?
				FUTEX_WAITERS :
				0;

	if (word_get(word) & FUTEX_TID_MASK)
		return false;
	word_set(word, tid_of(f) | rest);
	return true;
}

long futex_lock_pi_call(uint32_t *word, int64_t deadline, bool shared)
{
	uint32_t holder;

	check_given_back(word);
	self->asleep.shared = shared;
	holder = word_get(word) & FUTEX_TID_MASK;
	if (holder == tid_of(self))
		return -EDEADLK;
	if (take_free(word, self))
		return 0;
	if (fibers[holder - FIRST_TID].state == ENDED)
		return -ESRCH;
	if (deadline <= clock_ns)
		return -ETIMEDOUT;
	memory_change(word, 4, OR, FUTEX_WAITERS, __ATOMIC_ACQ_REL);
	self->asleep.pi = true;
	self->asleep.target = NULL;
	self->asleep.deadline = deadline;
	return futex_sleep(word);
}

long futex_unlock_pi_call(uint32_t *word)
{
	struct fiber *found[MAX_THREADS], *next;
	bool shared = false;
	int nr;

	check_given_back(word);
	if ((word_get(word) & FUTEX_TID_MASK) != tid_of(self))
		return -EPERM;
	nr = futex_sleepers(word, shared, true, found);
	if (!nr)
		nr = futex_sleepers(word, true, true, found);
	if (!nr) {
		word_set(word, 0);
		return 0;
	}
	next = futex_choose(found, nr);
	word_set(word, tid_of(next) | FUTEX_WAITERS);
	futex_wake_one(next, 0);
	return 0;
}

long futex_requeue_pi_call(uint32_t *word, uint32_t value, int most,
			   uint32_t *target)
{
	struct fiber *found[MAX_THREADS];
	long nr_done = 0;
	int nr;

	if ((uint32_t)memory_load(word, 4, __ATOMIC_RELAXED) != value)
		return -EAGAIN;
	if (scenario->flags & SPURIOUS && (nr = choose('e', 3)))
		return nr == 1 ? -EAGAIN : -EPERM;
	/*
	 * One thread gets the lock or waits for it, and up to @most more wait.
	 */
	while (nr_done <= most &&
	       (nr = futex_sleepers(word, false, false, found))) {
		struct fiber *f = futex_choose(found, nr);

		if (f->asleep.target != target)
			return -EINVAL;
		f->asleep.target = NULL;
		if (nr_done == 0 && take_free(target, f)) {
			futex_wake_one(f, 0);
		} else {
			memory_change(target, 4, OR, FUTEX_WAITERS,
				      __ATOMIC_ACQ_REL);
			f->asleep.pi = true;
			f->asleep.word = target;
			f->asleep.turn = fiber_turn();
			tell(caller_pc, "moves thread %d to %s", nr_of(f),
			     name_of(target));
		}
		nr_done++;
	}
	return nr_done;
}
