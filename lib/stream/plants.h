/* SPDX-License-Identifier: MIT */
/*
 * For tests of the debug build: break things in it on purpose. A test that is
 * linked to it statically sets these; they are no part of the API.
 */
#ifndef DROVER_STREAM_PLANTS_H
#define DROVER_STREAM_PLANTS_H

#include <stdbool.h>

#include "base/atomic.h"

/**
 * struct stream_plants - all zero: nothing is broken
 * @forget: the engine forgets every so many-th wait that it finds necessary
 * @fail_copy: the copy that comes so many copies from now fails with EIO
 * @late: eager copies dawdle, at most so many yields
 */
struct stream_plants {
	_Atomic uint32_t forget;
	_Atomic uint32_t fail_copy;
	_Atomic uint32_t late;
};

extern struct stream_plants stream_plants;

#ifdef DROVER_STREAM_DEBUG
/* Whether this wait is to be forgotten. */
bool plant_forgets(void);
/* The error of this copy, or 0. */
int plant_copy_fails(void);
void plant_dawdle(void);
#else
static inline bool plant_forgets(void)
{
	return false;
}
static inline int plant_copy_fails(void)
{
	return 0;
}
static inline void plant_dawdle(void)
{
}
#endif

#endif /* DROVER_STREAM_PLANTS_H */
