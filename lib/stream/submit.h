/* SPDX-License-Identifier: MIT */
/* submit.h - the way of an operation to the backend */
#ifndef DROVER_STREAM_SUBMIT_H
#define DROVER_STREAM_SUBMIT_H

#include "stream/op.h"

/* Submit @op, which is copied, and whose heap memory is taken over. */
int stream_submit(const drover_stream_t *name, struct op *op,
		  drover_ticket_t *ticket);

#endif /* DROVER_STREAM_SUBMIT_H */
