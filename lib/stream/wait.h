/* SPDX-License-Identifier: MIT */
/* wait.h - the host's waits for streams, and the errors that end streams */
#ifndef DROVER_STREAM_WAIT_H
#define DROVER_STREAM_WAIT_H

#include "stream/slot.h"

#define FAILURE_NONE UINT64_MAX

/*
 * Wait until s->done >= number. Return: EDEADLK from a kernel or host call that
 * would wait for itself. Called without stream_lock.
 */
int stream_wait(struct stream *s, uint64_t number,
		const struct deadline *deadline);
/* Return: the error of @number, which is done, or 0. */
int stream_error_at(const struct stream *s, uint64_t number);
/* Return: the error that has ended the stream, or 0. */
int stream_error(const struct stream *s);
/* Return: the first number that failed, or a number beyond all. */
uint64_t stream_failed_number(const struct stream *s);
void stream_fail(struct stream *s, uint64_t number, int error);
/* Is @number done? Asks the device if necessary. [stream_lock] */
bool stream_is_done(struct stream *s, uint64_t number);
bool stream_called_by_worker(const struct stream *s);
/* The dependencies of @op are done: if one has failed, then so has @op. */
void stream_inherit(struct stream *s, const struct op *op);
/* Wait for @need, and let go of its stream. */
int need_wait(const struct need *need);
/*
 * Call @step with the lock. If it sets a need, wait for that without the lock,
 * and call @step again.
 */
int stream_repeat(const drover_stream_t *name,
		  int (*step)(struct stream *s, void *arg, struct need *need),
		  void *arg);

#endif /* DROVER_STREAM_WAIT_H */
