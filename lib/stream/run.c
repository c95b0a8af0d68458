// SPDX-License-Identifier: MIT
/* Submit kernels, host calls and graphs. */
#include "stream/slot.h"
#include "stream/submit.h"

int drover_stream_run(drover_stream_t *stream, const drover_kernel_t *kernel,
		      const void *args, size_t args_bytes,
		      const drover_access_t *accesses, size_t nr_accesses,
		      drover_ticket_t *ticket)
{
	struct op op = { .kind = OP_RUN,
			 .kernel = *kernel,
			 .caller = __builtin_return_address(0) };
	int err = op_fill(&op, accesses, nr_accesses, args, args_bytes);

	return err ? err : stream_submit(stream, &op, ticket);
}

int drover_stream_host_call(drover_stream_t *stream, int (*call)(void *arg),
			    void *arg, const drover_access_t *accesses,
			    size_t nr_accesses, drover_ticket_t *ticket)
{
	struct op op = { .kind = OP_HOST_CALL,
			 .call = call,
			 .arg = arg,
			 .caller = __builtin_return_address(0) };
	int err;

	if (!call)
		return stream_because(EINVAL, "no function to call");
	err = op_fill(&op, accesses, nr_accesses, NULL, 0);
	return err ? err : stream_submit(stream, &op, ticket);
}

int drover_graph_replay(drover_stream_t *stream, drover_graph_t *graph,
			drover_ticket_t *ticket)
{
	struct op op = { .kind = OP_GRAPH,
			 .graph = graph,
			 .caller = __builtin_return_address(0) };
	struct stream *s = stream_enter(stream);
	int err = 0;

	if (!s)
		return EBADF;
	if (graph->backend != s->backend || graph->device != s->device)
		err = stream_because(EINVAL, "the graph is of another device");
	else
		graph->refs++;
	op.anything = graph->anything;
	drover_mutex_unlock(&stream_lock);
	return err ? err : stream_submit(stream, &op, ticket);
}
