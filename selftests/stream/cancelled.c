// SPDX-License-Identifier: GPL-2.0-only
/*
 * No call of a stream is a cancellation point: a thread that was cancelled makes a
 * stream, waits for its operations, and ends it, which joins a thread.
 *
 * APIs: drover stream/debug_cancelled
 */
#include "blocks.h"

#define BYTES 64

static int nr_through;

static void *run(void *arg)
{
	uint32_t backend = (uint32_t)(uintptr_t)arg;
	unsigned char host[BYTES] = { 0 };
	drover_stream_t stream;
	drover_ticket_t ticket;
	void *memory;

	pthread_cancel(pthread_self());
	stream = stream_of(backend, 0);
	MUST(drover_stream_alloc(&stream, BYTES, &memory));
	MUST(fill_submit(&stream, memory, 7, BYTES, &ticket));
	MUST(drover_stream_copy(&stream, host, memory, BYTES));
	MUST(drover_stream_drain(&stream));
	MUST(drover_stream_destroy(&stream));
	nr_through += host[BYTES - 1] == 7;
	pthread_testcancel();
	return NULL;
}

static void test(const char *name, uint32_t backend)
{
	pthread_t thread;
	void *result;

	nr_through = 0;
	if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)backend))
		tap_bail("no thread");
	pthread_join(thread, &result);
	tap_is(nr_through, 1, "%s: it came through all calls", name);
	tap_ok(result == PTHREAD_CANCELED, "%s: and was cancelled afterwards",
	       name);
}

int main(void)
{
	watchdog("cancelled");
	tap_plan(2 * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
