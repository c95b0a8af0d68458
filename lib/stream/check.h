/* SPDX-License-Identifier: MIT */
/* What the other parts tell the debug build's checker, check.c. */
#ifndef DROVER_STREAM_CHECK_H
#define DROVER_STREAM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct footprint;
struct op;
struct stream;

#ifdef DROVER_STREAM_DEBUG
void check_open(struct stream *s);
void check_close(struct stream *s);
void check_submit(struct stream *s, struct op *op);
void check_host_knows(const struct stream *s, uint64_t number);
void check_host_touches(const struct footprint *f, const void *caller);
void check_source_after(const struct op *op);
void check_after_fork(void);
#else
#define check_open(s)			      ((void)(s))
#define check_close(s)			      ((void)(s))
#define check_submit(s, op)		      ((void)(s))
#define check_host_knows(s, number)	      ((void)(s))
#define check_host_touches(footprint, caller) ((void)(footprint))
#define check_source_after(op)		      ((void)(op))
#define check_after_fork()		      ((void)0)
#endif

#endif /* DROVER_STREAM_CHECK_H */
