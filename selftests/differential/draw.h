/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sequence of calls draws from its seed, whichever call it is for.
 */
#ifndef DROVER_SELFTESTS_DIFFERENTIAL_DRAW_H
#define DROVER_SELFTESTS_DIFFERENTIAL_DRAW_H

#include "calls.h"

/* What a sequence remembers between its steps. */
struct sequence {
	uint64_t random;
	bool shared;  /* where most of it happens */
	bool pi;      /* whether priority inheritance has a part */
	bool held[2]; /* whether this thread has I0, I1 */
};

static const int private_places[] = {
	P0, P0, P0, P0, P1, P1, P1, P2, P2, PR, PX
};
static const int shared_places[] = { S0, S0, S0, S1, S1, S1,
				     S2, S2, T0, T0, A0, M0 };

#define LENGTH(array)	  ((int)(sizeof(array) / sizeof((array)[0])))
#define ONE_OF(s, array)  ((array)[random_below(&(s)->random, LENGTH(array))])
#define ONE_IN(s, number) (random_below(&(s)->random, number) == 0)

static inline const struct place *pick(struct sequence *s, bool shared)
{
	if (shared)
		return &places[ONE_OF(s, shared_places)];
	if (s->pi && ONE_IN(s, 6))
		return &places[I0 + random_below(&s->random, 2)];
	return &places[ONE_OF(s, private_places)];
}

static inline bool pick_shared(struct sequence *s)
{
	return ONE_IN(s, 16) ? !s->shared : s->shared;
}

static inline int pick_count(struct sequence *s)
{
	static const int odd[] = { -1, INT_MIN, INT_MAX - 1, 7, 100 };

	switch (random_below(&s->random, 16)) {
	case 0:
		return ONE_OF(s, odd);
	case 1 ... 5:
		return INT_MAX;
	default:
		return random_below(&s->random, 4);
	}
}

static inline uint32_t value_at(const struct place *place)
{
	return place == &places[PX] ?
		       0 :
		       __atomic_load_n(place->addr, __ATOMIC_RELAXED);
}

/* waits.c: a wait that was drawn, and this one, by a thread or request drawn. */
void step_wait(struct sequence *s);
void begin_wait(struct sequence *s, const struct wait *wait);

#endif /* DROVER_SELFTESTS_DIFFERENTIAL_DRAW_H */
