// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream that is gone is never mistaken for another, and one that a forked
 * child has inherited has no threads there and says so.
 *
 * APIs: drover stream/debug_after_destroy
 */
#include <sys/wait.h>

#include "blocks.h"

#define BYTES 64

static unsigned char host[BYTES];

static void use(const char *name, drover_stream_t *s)
{
	drover_stream_counts_t counts;
	drover_event_t event;
	drover_graph_t *graph;
	drover_ticket_t ticket;
	void *memory;
	const int errors[] = {
		drover_stream_alloc(s, BYTES, &memory),
		drover_stream_alloc_host(s, BYTES, &memory),
		drover_stream_copy(s, host, host + 32, 32),
		drover_stream_copy_staged(s, host, host + 32, 32, &ticket),
		fill_submit(s, host, 1, BYTES, &ticket),
		drover_stream_record(s, &event),
		drover_stream_synchronize(s),
		drover_stream_drain(s),
		drover_stream_capture(s),
		drover_stream_capture_end(s, &graph),
		drover_stream_counts(s, &counts),
		drover_stream_destroy(s),
	};
	int bad = 0;

	for (int i = 0; i < 12; i++)
		bad += errors[i] == EBADF;
	tap_is(bad, 12, "%s: EBADF from all functions", name);
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t old = stream_of(backend, DROVER_ORDER_ENGINE), new;
	drover_ticket_t ticket;

	watchdog(name);
	MUST(fill_submit(&old, host, 4, BYTES, &ticket));
	MUST(drover_stream_destroy(&old));
	tap_ok(all_are(host, 4, BYTES), "%s: destroy waits for all", name);
	use(name, &old);
	tap_is(drover_ticket_done(&ticket), EBADF, "%s: its tickets", name);
	new = stream_of(backend, DROVER_ORDER_ENGINE);
	use("and when there is a new one", &old);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), EBADF,
	       "%s: its tickets then", name);
	tap_is(drover_stream_drain(&new), 0, "%s: the new one is not touched",
	       name);
	MUST(drover_stream_destroy(&new));
}

static void test_child(void)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	drover_stream_t own;
	struct gate gate = GATE_INIT;
	int status;
	pid_t pid;

	watchdog("fork");
	gate_block(&gate, &s);
	pid = fork();
	if (!pid) {
		if (drover_stream_synchronize(&s) != EBADF)
			_exit(1);
		if (drover_stream_create(&own, NULL) ||
		    fill_submit(&own, host, 9, BYTES, NULL) ||
		    drover_stream_destroy(&own) || !all_are(host, 9, BYTES))
			_exit(2);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		tap_bail("fork");
	tap_is(status, 0, "a child's inherited stream: EBADF; its own works");
	gate_open(&gate);
	tap_is(drover_stream_destroy(&s), 0, "the parent's goes on");
}

/* No call is a cancellation point, also one that joins a thread. */
static void *come_through(void *nr)
{
	unsigned char got[BYTES] = { 0 };
	drover_stream_t stream;
	drover_ticket_t ticket;
	void *memory;

	pthread_cancel(pthread_self());
	stream = stream_of(DROVER_BACKEND_CPU, 0);
	MUST(drover_stream_alloc(&stream, BYTES, &memory));
	MUST(fill_submit(&stream, memory, 7, BYTES, &ticket));
	MUST(drover_stream_copy(&stream, got, memory, BYTES));
	MUST(drover_stream_drain(&stream));
	MUST(drover_stream_destroy(&stream));
	*(int *)nr += got[BYTES - 1] == 7;
	pthread_testcancel();
	return NULL;
}

static void test_cancelled(void)
{
	int nr_through = 0;

	watchdog("cancelled");
	tap_ok(joined(thread_of(come_through, &nr_through)) == PTHREAD_CANCELED,
	       "a thread that was cancelled is, after all calls");
	tap_is(nr_through, 1, "which it came through");
}

static void test_many(void)
{
	drover_stream_t streams[128], more;
	int err;

	watchdog("many streams");
	for (int i = 0; i < 128; i++)
		streams[i] = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	err = drover_stream_create(&more, NULL);
	tap_is(err, EAGAIN, "128 streams, and not one more");
	for (int i = 0; i < 128; i++)
		MUST(drover_stream_destroy(&streams[i]));
}

int main(void)
{
	drover_stream_t none = { 0 };

	tap_plan(1 + 6 * NR_CPU_BACKENDS + 3 + 2);
	use("zeroes", &none);
	for_each_cpu_backend(test);
	if (CHILDREN_MAY_HAVE_THREADS) {
		test_child();
	} else {
		tap_skip("a child's stream", "ThreadSanitizer ends the child");
		tap_skip("the parent's", "ThreadSanitizer ends the child");
	}
	test_cancelled();
	test_many();
	return tap_exit();
}
