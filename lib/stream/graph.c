// SPDX-License-Identifier: MIT
/*
 * Graphs: operations are captured once, and replayed many times. Each replay is
 * one operation, which touches all memory that the captured ones touch.
 */
#include "stream/graph.h"

#include <stdlib.h>
#include <string.h>

#include "stream/engine.h"

int drover_stream_capture(drover_stream_t *stream)
{
	struct stream *s = stream_enter(stream);
	int err;

	if (!s)
		return EBADF;
	err = stream_captures(s);
	if (!err && !(s->capture = calloc(1, sizeof(*s->capture))))
		err = stream_because(ENOMEM, "no memory");
	if (!err) {
		s->capture->refs = 1;
		s->capture->backend = s->backend;
		s->capture->device = s->device;
	}
	drover_mutex_unlock(&stream_lock);
	return err;
}

static int add_accesses(struct drover_graph *graph, const struct op *op)
{
	size_t nr = graph->nr_accesses + op->nr_accesses;
	drover_access_t *more;

	if (!op->nr_accesses)
		return 0;
	more = realloc(graph->accesses, nr * sizeof(*more));
	if (!more)
		return stream_because(ENOMEM, "no memory");
	memcpy(more + graph->nr_accesses, op_footprint(op).accesses,
	       op->nr_accesses * sizeof(*more));
	graph->accesses = more;
	graph->nr_accesses = nr;
	return 0;
}

int graph_add(struct stream *s, struct op *op)
{
	struct drover_graph *graph = s->capture;
	struct op *more;
	int err;

	if (op->kind == OP_GRAPH)
		return stream_captures(s);
	err = add_accesses(graph, op);
	if (err)
		return err;
	more = realloc(graph->nodes, (graph->nr_nodes + 1) * sizeof(*more));
	if (!more)
		return stream_because(ENOMEM, "no memory");
	graph->nodes = more;
	graph->nodes[graph->nr_nodes++] = *op;
	graph->anything |= op->anything;
	graph->calls |= op->kind == OP_HOST_CALL;
	return 0;
}

int drover_stream_capture_end(drover_stream_t *stream, drover_graph_t **graph)
{
	struct stream *s = stream_enter(stream);
	struct drover_graph *made;
	struct op replay = { .nr_accesses = 1 };
	int err = 0;

	if (!s)
		return EBADF;
	made = s->capture;
	s->capture = NULL;
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	/*
	 * A device's graph with host calls counts as written by each replay, so
	 * that the engine orders its replays in all streams.
	 */
	replay.accesses[0] = (drover_access_t){ made, 1, DROVER_WRITE };
	if (!made)
		err = stream_because(EINVAL, "the stream does not capture");
	else if (made->calls && s->backend->graph_make)
		err = add_accesses(made, &replay);
	if (!err && s->backend->graph_make)
		err = s->backend->graph_make(s, made);
	if (!err)
		*graph = made;
	else
		drover_graph_destroy(made);
	stream_unuse(s);
	return err;
}

int drover_graph_destroy(drover_graph_t *graph)
{
	if (!graph)
		return 0;
	drover_mutex_lock(&stream_lock);
	graph_put(graph);
	drover_mutex_unlock(&stream_lock);
	return 0;
}

void graph_record_events(struct stream *s, const struct op *op)
{
	const struct op *node = op->graph->nodes;

	for (size_t i = 0; i < op->graph->nr_nodes; i++, node++)
		if (node->kind == OP_RECORD)
			*node->event = (drover_event_t){
				{ { { s->slot, load_relaxed(&s->life) } },
				  op->number }
			};
}

int graph_order(struct stream *s, struct op *op, struct need *need)
{
	const struct op *node = op->graph->nodes;
	int err = 0;

	for (size_t i = 0; i < op->graph->nr_nodes && !err; i++, node++)
		if (node->kind == OP_WAIT)
			err = engine_order_event(s, op, node->event, need);
	return err;
}
