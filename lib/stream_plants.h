/* SPDX-License-Identifier: MIT */
/*
 * For tests of the debug build: break things in it on purpose. A test that is
 * linked to it statically sets these; they are no part of the API.
 */
#ifndef DROVER_STREAM_PLANTS_H
#define DROVER_STREAM_PLANTS_H

#include "atomic.h"

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

#endif /* DROVER_STREAM_PLANTS_H */
