// SPDX-License-Identifier: MIT
/* Things broken on purpose, in the debug build alone. */
#ifdef DROVER_STREAM_DEBUG
#include <errno.h>
#include <sched.h>

#include "stream/plants.h"

struct stream_plants stream_plants;

/* Counts down to 1: true every @plant-th time. */
bool plant_forgets(void)
{
	static _Atomic uint32_t times;
	uint32_t every = load_relaxed(&stream_plants.forget);

	return every && (add_relaxed(&times, 1) + 1) % every == 0;
}

int plant_copy_fails(void)
{
	uint32_t left = load_relaxed(&stream_plants.fail_copy);

	while (left && !cas_relaxed(&stream_plants.fail_copy, &left, left - 1))
		;
	return left == 1 ? EIO : 0;
}

void plant_dawdle(void)
{
	static _Atomic uint32_t turn;
	uint32_t most = load_relaxed(&stream_plants.late);

	if (!most)
		return;
	for (uint32_t n = add_relaxed(&turn, 7919) % most; n; n--)
		sched_yield();
}
#endif
