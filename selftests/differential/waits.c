// SPDX-License-Identifier: GPL-2.0-only
/*
 * The waits of a sequence: of which kind, on which futex, and by whom.
 */
#include "calls.h"

void step_wait(struct sequence *s)
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

void begin_wait(struct sequence *s, const struct wait *wait)
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
