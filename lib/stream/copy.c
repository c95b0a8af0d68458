// SPDX-License-Identifier: MIT
/* Copies, and sets of bytes. */
#include "stream/submit.h"
#include "stream/why.h"

#include <errno.h>

static int copy(drover_stream_t *stream, struct op *op, void *to,
		const void *from, size_t bytes, drover_ticket_t *ticket)
{
	const drover_access_t accesses[] = { { to, bytes, DROVER_WRITE },
					     { from, bytes, DROVER_READ } };
	drover_ticket_t own;
	int err;

	if (bytes && (!to || !from))
		return stream_because(EINVAL, "a copy from or to NULL");
	if (access_conflict(&accesses[0], &accesses[1]))
		return stream_because(EINVAL, "a copy onto itself");
	op->to = to;
	op->from = from;
	op->bytes = bytes;
	op_fill(op, accesses, 2, NULL, 0);
	err = stream_submit(stream, op, ticket);
	own = (drover_ticket_t){ *stream, op->number };
	if (!err && op->blocks)
		err = drover_ticket_wait(&own, CLOCK_MONOTONIC, NULL);
	return err;
}

int drover_stream_copy_staged(drover_stream_t *stream, void *to,
			      const void *from, size_t bytes,
			      drover_ticket_t *ticket)
{
	struct op op = { .staged = true,
			 .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, ticket);
}

int drover_stream_copy_borrowed(drover_stream_t *stream, void *to,
				const void *from, size_t bytes,
				drover_ticket_t *ticket)
{
	struct op op = { .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, ticket);
}

int drover_stream_copy(drover_stream_t *stream, void *to, const void *from,
		       size_t bytes)
{
	struct op op = { .blocks = true,
			 .caller = __builtin_return_address(0) };

	return copy(stream, &op, to, from, bytes, NULL);
}

int drover_stream_set(drover_stream_t *stream, void *to, int byte, size_t bytes,
		      drover_ticket_t *ticket)
{
	drover_access_t access = { to, bytes, DROVER_WRITE };
	struct op op = { .kind = OP_SET,
			 .to = to,
			 .byte = (unsigned char)byte,
			 .bytes = bytes,
			 .caller = __builtin_return_address(0) };

	if (!to || !bytes)
		return stream_because(EINVAL, "no bytes to be set");
	op_fill(&op, &access, 1, NULL, 0);
	return stream_submit(stream, &op, ticket);
}
