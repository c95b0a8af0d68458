// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream that was destroyed is never mistaken for another one. In a forked
 * child an inherited stream has no threads, and its functions say so. A thread
 * waits for a ticket, and wakes up only when its stream has failed and was
 * destroyed, and another stream was made: the wait returns the error all the
 * same, and a thread that sleeps for the new stream is woken.
 *
 * APIs: drover stream/debug_after_destroy
 */
#include "script.h"

/* gone STREAM: how many functions return another result than EBADF */
STEP(gone)
{
	drover_stream_t *s = STREAM;
	drover_stream_counts_t counts;
	drover_event_t event;
	drover_graph_t *graph;
	void *memory;
	const int errors[] = {
		drover_stream_alloc(s, BYTES, &memory),
		drover_stream_alloc_host(s, BYTES, &memory),
		drover_stream_copy(s, script_host[0], script_host[1], 32),
		drover_stream_copy_staged(s, script_host[0], script_host[1], 32,
					  TICKET),
		fill_submit(s, script_host[0], 1, BYTES, TICKET),
		drover_stream_record(s, &event),
		drover_stream_synchronize(s),
		drover_stream_drain(s),
		drover_stream_capture(s),
		drover_stream_capture_end(s, &graph),
		drover_graph_replay(s, NULL, NULL),
		drover_stream_counts(s, &counts),
		drover_stream_destroy(s),
	};
	int nr = 0;

	for (int i = 0; i < NR_OF(errors); i++)
		nr += errors[i] != EBADF;
	return nr;
}

/* many NR: make NR streams beside the others; the result of making one more */
STEP(many)
{
	drover_stream_t streams[128], more;
	int err;

	for (int i = 0; i < args[0]; i++)
		MUST(drover_stream_create(&streams[i], NULL));
	err = drover_stream_create(&more, NULL);
	for (int i = 0; i < args[0]; i++)
		MUST(drover_stream_destroy(&streams[i]));
	return err;
}

static bool child_uses_streams(void)
{
	return script_say("sync s = EBADF; create u; fill u j 9; destroy u; "
			  "is j 9");
}

/* A child of a fork, in which the streams' threads do not exist. */
STEP_IS(child, !child_does(child_uses_streams, "a child's streams"));

static void *come_through(void *right)
{
	pthread_cancel(pthread_self());
	*(bool *)right = script_say("create s; fill s a 7; copy s h a; "
				    "drain s; is h 7; free s a; destroy s");
	pthread_testcancel();
	return NULL;
}

/* No call is a cancellation point, not even a call that joins a thread. */
STEP(cancelled)
{
	bool right = false;
	pthread_t thread = thread_of(come_through, &right);

	return joined(thread) != PTHREAD_CANCELED || !right;
}

static atomic_bool stop;
static atomic_int late_tid;
static int late_result;
static pthread_t late_thread, hog_thread;

static void *wait_late(void *arg)
{
	MUST(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }));
	late_tid = blocked_gettid();
	late_result =
		drover_ticket_wait(&script.tickets[1], CLOCK_MONOTONIC, NULL);
	return arg;
}

/* Takes the CPU until it is told to stop, or for two seconds. */
static void *take_cpu(void *arg)
{
	int64_t end = blocked_now_ns() + 2 * NS_PER_S;

	while (!stop && blocked_now_ns() < end)
		;
	return arg;
}

/*
 * A thread of policy SCHED_IDLE sleeps in a wait for ticket 1. Then another
 * thread takes the CPU.
 */
STEP(idler)
{
	late_tid = 0;
	late_thread = thread_of(wait_late, NULL);
	reached(&late_tid, 1);
	asleep(late_tid);
	stop = false;
	hog_thread = thread_of(take_cpu, NULL);
	return 0;
}

STEP(finished)
{
	while (drover_ticket_done(&script.tickets[args[0]]) == EINPROGRESS)
		;
	return 0;
}

STEP(idlers)
{
	stop = true;
	joined(hog_thread);
	joined(late_thread);
	return late_result;
}

#define ROUND                                                        \
	"gate x s; fail s j @1; idler; open x; destroy s = ENOSPC; " \
	"create s; idlers = ENOSPC; gate y s; later y; drain s; "    \
	"waited y; "

static const struct scenario scenarios[] = {
	{ "cpu: a name of zeroes", "gone x;" },
	{ "destroy waits for all operations, and later calls return EBADF",
	  "fill s h 4 @1; destroy s; is h 4; gone s; done 1 = EBADF; "
	  "create u; gone s; ticket 1 = EBADF; drain u; destroy u;" },
#if CHILDREN_MAY_HAVE_THREADS
	{ "cpu: a child's inherited and own streams; the parent's goes on",
	  "gate x s; child; open x; drain s; destroy s;" },
#endif
	{ "cpu: a pending cancellation acts in no call", "cancelled;" },
	{ "cpu: there may be 128 streams, and not one more",
	  "many 128 = EAGAIN;" },
	{ "cpu: a late waiter gets the error, and a lone sleeper is woken",
	  "fill s j 1; " ROUND ROUND ROUND },
	{ "cuda: a late waiter does not wait for later work",
	  "gate x s; fill s a 1 @1; fill s a 1; idler; open x; finished 1; "
	  "gate y s; fill s a 1 @2; fill s a 1; until 2 0 = ETIMEDOUT; idlers; "
	  "open y; drain s;" },
	{ NULL, NULL },
};

int main(void)
{
	to_one_cpu();
	return scripts_main(scenarios);
}
