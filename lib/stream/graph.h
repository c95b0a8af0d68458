/* SPDX-License-Identifier: MIT */
/* graph.h - captured operations, and their replay; [stream_lock] */
#ifndef DROVER_STREAM_GRAPH_H
#define DROVER_STREAM_GRAPH_H

#include "stream/slot.h"

/* Keep @op, which is copied, in the graph that @s captures. */
int graph_add(struct stream *s, struct op *op);
/* Put @op, a replay, behind the events that its graph waits for. */
int graph_order(struct stream *s, struct op *op, struct need *need);
/* Record the events of the graph of @op, a replay, behind it. */
void graph_record_events(struct stream *s, const struct op *op);

#endif /* DROVER_STREAM_GRAPH_H */
