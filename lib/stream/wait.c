// SPDX-License-Identifier: MIT
/* The number up to which all is done: setting it, and waiting for it. */
#include <errno.h>
#include <limits.h>

#include "stream/stream.h"

#define WANTED_MASK   SLEEPERS_NONE
#define SLEEPER	      (UINT64_C(1) << 48)
#define HALF_FINISHED (UINT64_C(1) << 63)

static void count_system_call(struct stream *s)
{
	add_relaxed(&s->system_calls, 1);
}

/*
 * [S-DONE] done is stored, then sleepers read; whoever goes to sleep changes
 * sleepers, then reads done. Store buffering: sequentially consistent on both
 * sides, or a sleeper could miss the number it waits for. What follows its look
 * at done is the kernel's comparison of the futex word.
 */
void stream_set_done(struct stream *s, uint64_t number)
{
	uint64_t old = load_relaxed(&s->done), sleepers;

	do {
		if (old >= number)
			return;
	} while (!cas_seq_cst(&s->done, &old, number));
	sleepers = load_seq_cst(&s->sleepers);
	if (sleepers & ~WANTED_MASK && number >= (sleepers & WANTED_MASK)) {
		count_system_call(s);
		sleep_end(low_half(&s->done), INT_MAX, false);
	}
}

/*
 * [S-PREFIX] An operation is marked, then those behind done are looked at, and
 * two that finish at once must not both miss the other's mark: sequentially
 * consistent on both sides. An unposted one is not looked at, for its place in
 * the ring may be in the hands of a submitter.
 */
void stream_finish(struct stream *s, struct op *op)
{
	uint64_t next = op->number;

	store_seq_cst(&s->finished[next % s->depth], next);
	for (;;) {
		next = load_seq_cst(&s->done) + 1;
		if (next > load_seq_cst(&s->posted) ||
		    load_seq_cst(&s->finished[next % s->depth]) != next)
			return;
		stream_set_done(s, next);
	}
}

/*
 * [S-PASS] The queue's thread passes by what others carry out, and has to read
 * for that whose turn it is. So the second of the two finishes it, and has
 * acquired what the first one released: nobody reads the operation any more.
 */
void stream_finish_unqueued(struct stream *s, struct op *op)
{
	uint64_t half = op->number | HALF_FINISHED;

	if (swap_acq_rel(&s->finished[op->number % s->depth], half) == half)
		stream_finish(s, op);
}

/* Say on the way to sleep what for. Alone, correct what others have left. */
static void sleepers_enter(struct stream *s, uint64_t number)
{
	uint64_t old = load_relaxed(&s->sleepers), new;

	do {
		uint64_t wanted = old & WANTED_MASK;

		new = (old & ~WANTED_MASK) + SLEEPER;
		new |= number < wanted ? number : wanted;
	} while (!cas_seq_cst(&s->sleepers, &old, new)); /* [S-DONE] */
}

static void sleepers_leave(struct stream *s)
{
	uint64_t old = load_relaxed(&s->sleepers), new;

	do {
		new = old - SLEEPER;
		if (!(new & ~WANTED_MASK))
			new = SLEEPERS_NONE;
	} while (!cas_seq_cst(&s->sleepers, &old, new));
}

static int sleep_until(struct stream *s, uint64_t number,
		       const struct deadline *deadline)
{
	for (;;) {
		uint64_t seen = load_seq_cst(&s->done); /* [S-DONE] */
		long ret;

		if (seen >= number)
			return 0;
		count_system_call(s);
		ret = sleep_on(low_half(&s->done), (uint32_t)seen, deadline,
			       false, FUTEX_BITSET_MATCH_ANY,
			       &thread_this.for_streams);
		if (ret == -ETIMEDOUT)
			return load_acquire(&s->done) >= number ? 0 : ETIMEDOUT;
	}
}

struct awaited_number {
	const _Atomic uint64_t *number;
	uint64_t wanted;
};

static enum polled poll_number(void *arg)
{
	const struct awaited_number *a = arg;

	return load_acquire(a->number) >= a->wanted ? POLL_CAME : POLL_NOTHING;
}

bool number_linger(const _Atomic uint64_t *number, uint64_t wanted,
		   const struct deadline *deadline)
{
	struct awaited_number a = { number, wanted };

	return linger(&thread_this.for_streams, poll_number, &a,
		      time_left(deadline));
}

int stream_wait_done(struct stream *s, uint64_t number,
		     const struct deadline *deadline)
{
	int err;

	if (number_linger(&s->done, number, deadline))
		return 0;
	sleepers_enter(s, number);
	err = sleep_until(s, number, deadline);
	sleepers_leave(s);
	return err;
}

void stream_await_users(struct stream *s)
{
	uint32_t users;

	while ((users = load_seq_cst(&s->users))) /* [S-USERS] */
		futex_wait(&s->users, users, NULL, false);
}

bool stream_called_by_worker(const struct stream *s)
{
	return load_relaxed(&s->worker) == thread_tid();
}

int stream_wait(struct stream *s, uint64_t number,
		const struct deadline *deadline)
{
	int err = 0;

	if (load_acquire(&s->done) < number) {
		if (stream_called_by_worker(s))
			return stream_because(
				EDEADLK,
				"a kernel or host call would wait for itself");
		err = s->backend->wait(s, number, deadline);
	}
	if (!err)
		check_host_knows(s, number);
	return err;
}

bool stream_is_done(struct stream *s, uint64_t number)
{
	if (load_acquire(&s->done) >= number)
		return true;
	if (s->backend->poll)
		s->backend->poll(s);
	return load_acquire(&s->done) >= number;
}

int need_wait(const struct need *need, const drover_stream_t *name)
{
	int err = stream_wait(need->on, need->number, NULL);
	struct stream *s;

	stream_unuse(need->on);
	if (err || !need->count)
		return err;
	s = stream_enter(name);
	if (!s)
		return EBADF;
	++*need->count;
	stream_leave();
	return 0;
}

/*
 * ---- errors: the first one is the stream's ----
 *
 * [S-FAIL] An operation fails, then it is done: stream_set_done() releases the
 * failure with the number. Who wants to know whether a number that is done has
 * failed looks at done first; the other way round it could miss the failure.
 */

void stream_fail(struct stream *s, uint64_t number, int error)
{
	uint64_t code = error > 0 && error < 0x1000 ? (uint64_t)error : EIO;
	uint64_t new = number << 12 | code;
	uint64_t old = load_relaxed(&s->failure);

	while (new < old && !cas_seq_cst(&s->failure, &old, new))
		;
}

uint64_t stream_failed_number(const struct stream *s)
{
	uint64_t failure = load_acquire(&s->failure);

	return failure == NUMBER_NONE ? NUMBER_NONE : failure >> 12;
}

int stream_error_at(const struct stream *s, uint64_t number)
{
	uint64_t failure = load_acquire(&s->failure);

	if (failure == NUMBER_NONE || failure >> 12 > number)
		return 0;
	return (int)(failure & 0xfff);
}

int stream_error(const struct stream *s)
{
	int err = stream_error_at(s, NUMBER_NONE >> 12);

	return err ? stream_because(err, "an operation has failed before") : 0;
}

/* ---- tickets ---- */

static int gone(void)
{
	return stream_because(EBADF, "the ticket's stream was destroyed");
}

static struct stream *slot_of(const drover_ticket_t *ticket)
{
	uint32_t slot = ticket->stream.name[0];

	return slot < STREAM_MAX ? &streams[slot] : NULL;
}

/*
 * EINPROGRESS, or how the operation has ended. Life is looked at last: the end of
 * a stream changes it before anything else becomes another stream's, and what is
 * read here is acquired.
 */
static int outcome(struct stream *s, const drover_ticket_t *ticket)
{
	bool done = load_acquire(&s->done) >= ticket->number;
	int err = stream_error_at(s, ticket->number);

	if (load_acquire(&s->life) != ticket->stream.name[1])
		return gone();
	if (!done)
		return EINPROGRESS;
	check_host_knows(s, ticket->number);
	return err;
}

int drover_ticket_done(const drover_ticket_t *ticket)
{
	struct stream *s = slot_of(ticket);
	int err;

	if (!ticket->number)
		return 0;
	if (!s)
		return gone();
	err = outcome(s, ticket);
	if (err != EINPROGRESS)
		return err;
	s = stream_enter(&ticket->stream);
	if (!s)
		return EBADF;
	stream_is_done(s, ticket->number);
	stream_leave();
	return outcome(s, ticket);
}

int drover_ticket_wait(const drover_ticket_t *ticket, clockid_t clock,
		       const struct timespec *deadline)
{
	struct deadline d = { .clock = clock };
	struct stream *s = slot_of(ticket);
	int err;

	if (deadline) {
		d.at = *deadline;
		if (!deadline_valid(&d))
			return stream_because(EINVAL, "no such time");
	}
	if (!ticket->number)
		return 0;
	if (!s)
		return gone();
	err = outcome(s, ticket);
	if (err != EINPROGRESS)
		return err;
	stream_use(s);
	if (load_seq_cst(&s->life) != ticket->stream.name[1]) /* [S-USERS] */
		err = gone();
	else
		err = stream_wait(s, ticket->number, deadline ? &d : NULL);
	if (!err)
		err = stream_error_at(s, ticket->number);
	stream_unuse(s);
	return err;
}
