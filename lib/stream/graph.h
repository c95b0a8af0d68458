/* SPDX-License-Identifier: MIT */
/* graph.h - captured operations, and their replay; [stream_lock] */
#ifndef DROVER_STREAM_GRAPH_H
#define DROVER_STREAM_GRAPH_H

#include "stream/slot.h"

/*
 * Copy @op into the graph that @s captures. Return: 0; ENOMEM; EBUSY: a graph
 * cannot have an operation of this kind.
 */
int graph_add(struct stream *s, struct op *op);

#endif /* DROVER_STREAM_GRAPH_H */
