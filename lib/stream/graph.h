/* SPDX-License-Identifier: MIT */
/* graph.h - captured operations, and their replay; [stream_lock] */
#ifndef DROVER_STREAM_GRAPH_H
#define DROVER_STREAM_GRAPH_H

#include "stream/slot.h"

/* Keep @op, which is copied, in the graph that @s captures; EBUSY: not in a graph. */
int graph_add(struct stream *s, struct op *op);

#endif /* DROVER_STREAM_GRAPH_H */
