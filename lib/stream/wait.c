// SPDX-License-Identifier: MIT
/* The number up to which all is done: setting it, and waiting for it. */
#include <errno.h>
#include <limits.h>

#include "stream/stream.h"

#define SLEEPER (NUMBER_MAX + 1)
#define MIXED	(UINT64_C(1) << 63) /* there was more than one */

/* ---- numbers ---- */

/*
 * [S-NUMBER] The number is raised, then sleepers read; whoever goes to sleep
 * changes sleepers, then reads the number. Store buffering: sequentially
 * consistent on both sides, or a sleeper could miss what it waits for. What
 * follows its look is the kernel's comparison of the futex word.
 *
 * Who wakes one that was always alone takes back what it waits for, so that the
 * next raise makes no system call before it runs. Of several the one that is left
 * may wait for more, and be about to sleep behind the wake-up. Model: number.pml
 */
void number_raise(struct stream *s, struct number *n, uint64_t to)
{
	uint64_t old = load_relaxed(&n->at), sleepers;

	do {
		if (old >= to)
			return;
	} while (!cas_seq_cst(&n->at, &old, to));
	sleepers = load_seq_cst(&n->sleepers);
	if (!sleepers || NUMBER_MAX - (sleepers & NUMBER_MAX) > to)
		return;
	if (sleepers < 2 * SLEEPER)
		cas_seq_cst(&n->sleepers, &sleepers, SLEEPER);
	add_relaxed(&s->system_calls, 1);
	wake_sleepers(LOW_HALF(&n->at), INT_MAX, false);
}

/* Say on the way to sleep what for. */
static void sleepers_enter(struct number *n, uint64_t wanted)
{
	uint64_t old = load_relaxed(&n->sleepers), new;

	wanted = NUMBER_MAX - wanted;
	do {
		new = old ? (old + SLEEPER) | MIXED : SLEEPER;
		if ((new &NUMBER_MAX) < wanted)
			new = (new & ~NUMBER_MAX) | wanted;
	} while (!cas_seq_cst(&n->sleepers, &old, new)); /* [S-NUMBER] */
}

static void sleepers_leave(struct number *n)
{
	uint64_t old = load_relaxed(&n->sleepers), new;

	do {
		new = (old & ~MIXED) < 2 * SLEEPER ? 0 : old - SLEEPER;
	} while (!cas_seq_cst(&n->sleepers, &old, new));
}

struct awaited_number {
	const struct number *number;
	uint64_t wanted;
};

static bool poll_number(void *arg)
{
	const struct awaited_number *a = arg;

	return load_acquire(&a->number->at) >= a->wanted;
}

int number_wait(struct stream *s, struct number *n, uint64_t wanted,
		const struct deadline *deadline)
{
	struct awaited_number a = { n, wanted };
	uint64_t seen;
	long ret = 0;

	if (poll_before_sleep(&thread_this.for_streams, poll_number, &a,
			      time_left(deadline)))
		return 0;
	/* A worker's place is free meanwhile. */
	block_begin(true);
	sleepers_enter(n, wanted);
	/* [S-NUMBER] */
	while ((seen = load_seq_cst(&n->at)) < wanted && ret != -ETIMEDOUT) {
		add_relaxed(&s->system_calls, 1);
		ret = sleep_on(LOW_HALF(&n->at), (uint32_t)seen, deadline,
			       false, FUTEX_BITSET_MATCH_ANY,
			       &thread_this.for_streams);
	}
	sleepers_leave(n);
	block_end();
	return seen < wanted ? ETIMEDOUT : 0;
}

/* ---- streams ---- */

bool stream_called_by_worker(const struct stream *s)
{
	return load_relaxed(&s->worker) == thread_tid();
}

int stream_wait(struct stream *s, uint64_t number,
		const struct deadline *deadline)
{
	int err = 0;

	if (stream_done(s) < number) {
		if (stream_called_by_worker(s))
			return stream_because(
				EDEADLK,
				"a kernel or host call would wait for itself");
		err = s->backend->wait ?
			      s->backend->wait(s, number, deadline) :
			      number_wait(s, &s->done, number, deadline);
	}
	if (!err)
		check_host_knows(s, number);
	return err;
}

bool stream_is_done(struct stream *s, uint64_t number)
{
	if (stream_done(s) >= number)
		return true;
	if (s->backend->poll)
		s->backend->poll(s);
	return stream_done(s) >= number;
}

int need_wait(const struct need *need)
{
	int err = stream_wait(need->on, need->number, NULL);

	stream_unuse(need->on);
	return err;
}

/*
 * ---- errors: the first one is the stream's ----
 *
 * [S-FAIL] An operation fails, then it is done: number_raise() releases the
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
	return load_acquire(&s->failure) >> 12;
}

int stream_error_at(const struct stream *s, uint64_t number)
{
	uint64_t failure = load_acquire(&s->failure);

	return failure >> 12 > number ? 0 : (int)(failure & 0xfff);
}

int stream_error(const struct stream *s)
{
	int err = stream_error_at(s, NUMBER_MAX);

	return err ? stream_because(err, "an operation has failed before") : 0;
}

/* ---- tickets ---- */

/*
 * EINPROGRESS, or how the operation has ended. Life is looked at last: the end of
 * a stream changes it before anything else becomes another stream's, and what is
 * read here is acquired.
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
	check_host_knows(s, ticket->number);
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
			return stream_because(EINVAL, "no such time");
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
