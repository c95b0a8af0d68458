/* SPDX-License-Identifier: MIT */
/*
 * Spares: cache lines in pages that are never given back, so that a thread that
 * has an old pointer to one may read it. What is in a spare stays, except for
 * its first pointer. A thread keeps one; more go to the list that all threads
 * share.
 */
#ifndef DROVER_SPARE_H
#define DROVER_SPARE_H

#include "base/waiter.h"

#define SPARE_BYTES 64
void *spare_get(struct waiter *w); /* NULL: no memory */
void spare_put(struct waiter *w, void *spare);

#endif /* DROVER_SPARE_H */
