// SPDX-License-Identifier: GPL-2.0-only
/* Graphs. */
#include <stdlib.h>

#include "mock.h"

EXPORT int cuStreamBeginCapture_v2(struct stream *s, int mode)
{
	struct graph *graph;

	WANT_CONTEXT();
	graph = calloc(1, sizeof(*graph));
	if (!graph || mode != 1)
		return graph ? INVALID_VALUE : OUT_OF_MEMORY;
	graph->end = &graph->first;
	graph->refs = 1;
	graph->life = context_life;
	pthread_mutex_lock(&lock);
	s->capture = graph;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

EXPORT int cuStreamEndCapture(struct stream *s, struct graph **graph)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	*graph = s->capture;
	s->capture = NULL;
	pthread_mutex_unlock(&lock);
	if (*graph && (*graph)->spoilt) {
		graph_put(*graph);
		*graph = NULL;
		return CAPTURE_INVALIDATED;
	}
	return *graph ? SUCCESS : INVALID_VALUE;
}

/* An executable graph shares the jobs of the one it was made of. */
EXPORT int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph,
				       unsigned long long flags)
{
	WANT_CONTEXT();
	(void)flags;
	pthread_mutex_lock(&lock);
	graph->refs++;
	pthread_mutex_unlock(&lock);
	*exec = graph;
	return SUCCESS;
}

EXPORT int cuGraphDestroy(struct graph *graph)
{
	CALLED();
	graph_put(graph);
	return SUCCESS;
}

EXPORT int cuGraphExecDestroy(struct graph *exec)
{
	CALLED();
	graph_put(exec);
	return SUCCESS;
}

EXPORT int cuGraphLaunch(struct graph *exec, struct stream *s)
{
	WANT_CONTEXT();
	if (exec->life != context_life)
		return CONTEXT_IS_DESTROYED;
	return add_job(s, (struct job){ .kind = GRAPH, .graph = exec });
}
