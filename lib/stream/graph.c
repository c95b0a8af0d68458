// SPDX-License-Identifier: MIT
/*
 * Graphs: operations are captured once, and replayed many times. Each replay is
 * one operation. It touches all memory that the captured operations touch.
 */
#include "stream/graph.h"

#include <stdlib.h>
#include <string.h>

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

	if (op->kind == OP_GRAPH || op->kind == OP_HOST_CALL ||
	    op->kind == OP_WAIT)
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
	return 0;
}

int drover_stream_capture_end(drover_stream_t *stream, drover_graph_t **graph)
{
	struct stream *s = stream_enter(stream);
	struct drover_graph *made;
	int err = 0;

	if (!s)
		return EBADF;
	made = s->capture;
	s->capture = NULL;
	stream_use(s);
	drover_mutex_unlock(&stream_lock);
	if (!made)
		err = stream_because(EINVAL, "the stream does not capture");
	else if (s->backend->graph_make)
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
