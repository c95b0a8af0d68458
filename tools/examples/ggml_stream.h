/* SPDX-License-Identifier: MIT */
/*
 * The asynchronous half of a ggml backend, by drover_stream_t: members of
 * ggml's struct ggml_backend_i and struct ggml_backend_device_i. Include it
 * after ggml-backend-impl.h. A backend's context begins with a struct
 * ggml_drover.
 *
 * Callers may rely on the following:
 *  - set_tensor_async() has read its source when it returns, so the source may
 *    be freed or overwritten at once.
 *  - Calls that touch the same memory take effect in their order, also between
 *    backends, and also for copies that start at once. So no synchronize() is
 *    needed before an input is overwritten, nor between copies, and
 *    event_wait() adds no order.
 *  - synchronize() returns when every asynchronous call of this backend is
 *    done.
 */
#ifndef DROVER_GGML_STREAM_H
#define DROVER_GGML_STREAM_H

#include <drover/stream.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct ggml_drover {
	drover_stream_t stream;
};

/* ggml's functions return nothing, so an error ends the program. */
static inline void ggml_drover_check(int err, const char *call)
{
	if (!err)
		return;
	fprintf(stderr, "%s: error %d: %s\n", call, err, drover_stream_why());
	abort();
}

static inline drover_stream_t *ggml_drover_stream(ggml_backend_t backend)
{
	return &((struct ggml_drover *)backend->context)->stream;
}

static inline void ggml_drover_set_tensor_async(ggml_backend_t backend,
						struct ggml_tensor *tensor,
						const void *data, size_t offset,
						size_t size)
{
	ggml_drover_check(
		drover_stream_copy_staged(ggml_drover_stream(backend),
					  (char *)tensor->data + offset, data,
					  size, NULL),
		"set_tensor_async");
}

/* @data belongs to the copy until synchronize() has returned. */
static inline void
ggml_drover_get_tensor_async(ggml_backend_t backend,
			     const struct ggml_tensor *tensor, void *data,
			     size_t offset, size_t size)
{
	ggml_drover_check(drover_stream_copy_borrowed(
				  ggml_drover_stream(backend), data,
				  (char *)tensor->data + offset, size, NULL),
			  "get_tensor_async");
}

/* Return: false, so that ggml copies by the host: no device reaches both. */
static inline bool ggml_drover_cpy_tensor_async(ggml_backend_t backend_src,
						ggml_backend_t backend_dst,
						const struct ggml_tensor *src,
						struct ggml_tensor *dst)
{
	int err = EXDEV;

	if (backend_src->iface.cpy_tensor_async ==
	    backend_dst->iface.cpy_tensor_async)
		err = drover_stream_copy_borrowed(
			ggml_drover_stream(backend_dst), dst->data, src->data,
			ggml_nbytes(dst), NULL);
	if (err == EXDEV)
		return false;
	ggml_drover_check(err, "cpy_tensor_async");
	return true;
}

static inline void ggml_drover_synchronize(ggml_backend_t backend)
{
	ggml_drover_check(drover_stream_drain(ggml_drover_stream(backend)),
			  "synchronize");
}

/* ---- events: context is a drover_event_t of zeroes until it is recorded ---- */

static inline drover_event_t *ggml_drover_event(ggml_backend_event_t event)
{
	return (drover_event_t *)event->context;
}

static inline void ggml_drover_event_record(ggml_backend_t backend,
					    ggml_backend_event_t event)
{
	ggml_drover_check(drover_stream_record(ggml_drover_stream(backend),
					       ggml_drover_event(event)),
			  "event_record");
}

static inline void ggml_drover_event_wait(ggml_backend_t backend,
					  ggml_backend_event_t event)
{
	ggml_drover_check(drover_stream_wait_event(ggml_drover_stream(backend),
						   ggml_drover_event(event)),
			  "event_wait");
}

/* The host waits for the event. A backend that is gone has waited for it. */
static inline void ggml_drover_event_synchronize(ggml_backend_dev_t device,
						 ggml_backend_event_t event)
{
	int err = drover_ticket_wait(ggml_drover_event(event), CLOCK_MONOTONIC,
				     NULL);

	(void)device;
	ggml_drover_check(err == EBADF ? 0 : err, "event_synchronize");
}

#endif /* DROVER_GGML_STREAM_H */
