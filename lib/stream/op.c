// SPDX-License-Identifier: MIT
/* The heap memory of operations and graphs, and the memory that they touch. */
#include "stream/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/backend.h"
#include "stream/why.h"

static const drover_access_t *accesses_of(const struct op *op)
{
	if (op->kind == OP_GRAPH)
		return op->graph->accesses;
	if (!op->heap)
		return op->accesses;
	/* They lie behind the arguments. */
	return (void *)((char *)op->heap + (op->args_bytes + 15) / 16 * 16);
}

int op_fill(struct op *op, const drover_access_t *accesses, size_t nr,
	    const void *args, size_t bytes)
{
	op->anything = !accesses;
	op->nr_accesses = accesses ? nr : 0;
	op->args_bytes = args ? bytes : 0;
	if (op->nr_accesses > OP_ACCESSES || op->args_bytes > OP_ARGS) {
		op->heap = malloc(op->args_bytes + 16 +
				  op->nr_accesses * sizeof(*accesses));
		if (!op->heap)
			return stream_because(ENOMEM, "no memory");
	}
	if (op->nr_accesses)
		memcpy((void *)accesses_of(op), accesses,
		       nr * sizeof(*accesses));
	if (op->args_bytes)
		memcpy(op_args(op), args, bytes);
	return 0;
}

void op_free(struct op *op)
{
	free(op->heap);
	free(op->source);
	op->heap = op->source = NULL;
	if (op->graph)
		graph_put(op->graph);
	op->graph = NULL;
}

void graph_put(struct drover_graph *graph)
{
	if (--graph->refs)
		return;
	if (graph->backend->graph_drop && graph->device_private)
		graph->backend->graph_drop(graph);
	for (size_t i = 0; i < graph->nr_nodes; i++)
		op_free(&graph->nodes[i]);
	free(graph->nodes);
	free(graph->accesses);
	free(graph);
}

/* ---- footprints ---- */

struct footprint op_footprint(const struct op *op)
{
	return (struct footprint){
		.accesses = accesses_of(op),
		.nr = op->kind == OP_GRAPH ? op->graph->nr_accesses :
					     op->nr_accesses,
		.anything = op->anything,
	};
}

bool access_conflict(const drover_access_t *a, const drover_access_t *b)
{
	uintptr_t start_a = (uintptr_t)a->start, start_b = (uintptr_t)b->start;

	return (a->kind | b->kind) & DROVER_WRITE &&
	       start_a < start_b + b->bytes && start_b < start_a + a->bytes;
}

bool footprint_conflict(const struct footprint *a, const struct footprint *b)
{
	if (a->anything || b->anything)
		return true;
	for (size_t i = 0; i < a->nr; i++)
		for (size_t j = 0; j < b->nr; j++)
			if (access_conflict(&a->accesses[i], &b->accesses[j]))
				return true;
	return false;
}
