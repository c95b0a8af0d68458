/* SPDX-License-Identifier: MIT */
/* submit.h - how an operation gets to the backend */
#ifndef DROVER_STREAM_SUBMIT_H
#define DROVER_STREAM_SUBMIT_H

#include "stream/op.h"

/* Submit a copy of @op, which takes over the heap memory of @op. */
int stream_submit(const drover_stream_t *name, struct op *op,
		  drover_ticket_t *ticket);

#endif /* DROVER_STREAM_SUBMIT_H */
