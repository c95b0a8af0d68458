// SPDX-License-Identifier: MIT
/* Tickets: whether one operation is done, and with which result. */
#include "stream/wait.h"

/*
 * Return: EINPROGRESS, or the operation's result. Life is read last: when a
 * stream ends, its life changes before done and failure become another
 * stream's. All three are acquired.
 */
static int outcome(struct stream *s, const drover_ticket_t *ticket)
{
	bool done = stream_done(s) >= ticket->number;
	int err = stream_error_at(s, ticket->number);

	if (!ticket->number)
		return 0;
	if (ticket->stream.name[0] >= STREAM_MAX ||
	    load_acquire(&s->life) != ticket->stream.name[1])
		return stream_because(EBADF, "the stream was destroyed");
	if (!done)
		return EINPROGRESS;
	OBSERVE(host_knows, s, ticket->number);
	return err;
}

int drover_ticket_done(const drover_ticket_t *ticket)
{
	struct stream *s = &streams[ticket->stream.name[0] % STREAM_MAX];
	int err = outcome(s, ticket);

	if (err != EINPROGRESS || !s->backend->poll)
		return err;
	s = stream_enter(&ticket->stream);
	if (!s)
		return EBADF;
	stream_is_done(s, ticket->number);
	drover_mutex_unlock(&stream_lock);
	return outcome(s, ticket);
}

int drover_ticket_wait(const drover_ticket_t *ticket, clockid_t clock,
		       const struct timespec *deadline)
{
	struct deadline d = { .clock = clock };
	struct stream *s = &streams[ticket->stream.name[0] % STREAM_MAX];
	int err;

	if (deadline) {
		d.at = *deadline;
		if (!deadline_valid(&d))
			return stream_because(EINVAL, "invalid deadline");
	}
	err = outcome(s, ticket);
	if (err != EINPROGRESS)
		return err;
	stream_use(s);
	if (load_seq_cst(&s->life) != ticket->stream.name[1]) /* [S-USERS] */
		err = stream_because(EBADF, "the stream was destroyed");
	else
		err = stream_wait(s, ticket->number, deadline ? &d : NULL);
	if (!err)
		err = stream_error_at(s, ticket->number);
	stream_unuse(s);
	return err;
}
