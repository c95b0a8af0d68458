/* SPDX-License-Identifier: MIT */
/* engine.h - the order of conflicting operations; [stream_lock] */
#ifndef DROVER_STREAM_ENGINE_H
#define DROVER_STREAM_ENGINE_H

#include "stream/slot.h"

/*
 * Order @op behind all operations that it conflicts with, by its dependencies.
 * Return: 0; EAGAIN: the host has to wait for @need first; or an error of one
 * of these operations, which @op inherits.
 */
int engine_order(struct stream *s, struct op *op, struct need *need);
/* Order @op behind @event, unless it is already. Return: as engine_order(). */
int engine_order_event(struct stream *s, struct op *op,
		       const drover_event_t *event, struct need *need);
/* @op has got its number: raise the clock of @s by the dependencies of @op. */
void engine_submitted(struct stream *s, struct op *op);
/* @s ends: give its error to the operations that depend on it. */
void engine_pass_error_on(const struct stream *s);

#endif /* DROVER_STREAM_ENGINE_H */
