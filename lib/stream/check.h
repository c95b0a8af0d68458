/* SPDX-License-Identifier: MIT */
/* What the other parts tell the debug build's checker, stream_check.c. */
#ifndef DROVER_STREAM_CHECK_H
#define DROVER_STREAM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct footprint;
struct op;
struct place;
struct stream;

/*
 * For tests: break things in the debug build on purpose. A test that is linked to
 * it statically sets these; they are no part of the API.
 */

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

/*
 * A backend for tests, which builds for them alone have: a copy starts when it is
 * submitted. See eager.c.
 */
#define DROVER_BACKEND_EAGER 1u

#ifdef DROVER_STREAM_DEBUG
/* Whether this wait is to be forgotten. */
bool plant_forgets(void);
/* The error of this copy, or 0. */
int plant_copy_fails(void);
void plant_dawdle(void);
void check_place(struct op *op, const void *caller);
void check_open(struct stream *s);
void check_close(struct stream *s);
void check_submit(struct stream *s, struct op *op);
void check_host_knows(const struct stream *s, uint64_t number);
void check_host_touches(const struct footprint *f, const struct place *place);
void check_source_after(const struct op *op);
void check_after_fork(void);
#else
#define plant_forgets()			     false
#define plant_copy_fails()		     0
#define plant_dawdle()			     ((void)0)
#define check_place(op, caller)		     ((void)(op), (void)(caller))
#define check_open(s)			     ((void)(s))
#define check_close(s)			     ((void)(s))
#define check_submit(s, op)		     ((void)(s))
#define check_host_knows(s, number)	     ((void)(s))
#define check_host_touches(footprint, place) ((void)(footprint))
#define check_source_after(op)		     ((void)(op))
#define check_after_fork()		     ((void)0)
#endif

#endif /* DROVER_STREAM_CHECK_H */
