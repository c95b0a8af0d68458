// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objection: a source that is changed before the copy is done. Who borrows
 * is told so by the debug build, by what is in the memory and, without any
 * luck needed, by what the host says it does.
 */
#include "blocks.h"

#define BYTES 512

static unsigned char host[BYTES], back[BYTES];

/* The copy reads what the host wrote meanwhile. */
static void test_changed(drover_stream_t *s, void *memory)
{
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;
	int line;

	memset(host, 1, BYTES);
	gate_block(&gate, s);
	line = __LINE__ + 1;
	MUST(drover_stream_copy_borrowed(s, memory, host, BYTES, &ticket));
	memset(host, 2, BYTES);
	gate_open(&gate);
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	tap_is(races_found(), 1, "a borrowed source that has changed");
	tap_ok(races_name(__FILE__, line), "the report names the copy");

	memset(host, 3, BYTES);
	MUST(drover_stream_copy_borrowed(s, memory, host, BYTES, &ticket));
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	memset(host, 4, BYTES);
	MUST(drover_stream_copy_staged(s, memory, host, BYTES, NULL));
	memset(host, 5, BYTES);
	MUST(drover_stream_drain(s));
	tap_is(races_found(), 0, "changed when its ticket is done, or staged");
}

static void test_noted(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	void *memory = device_memory(&s, BYTES);
	drover_access_t write = { host + 100, 1, DROVER_WRITE };
	drover_access_t read = { host, BYTES, DROVER_READ };
	drover_access_t look = { back, 1, DROVER_READ };
	drover_ticket_t ticket;
	int line;

	line = __LINE__ + 1;
	MUST(drover_stream_copy_borrowed(&s, memory, host, BYTES, &ticket));
	MUST(drover_stream_note(&read, 1));
	tap_is(races_found(), 0, "%s: the host may read what is borrowed",
	       name);
	MUST(drover_stream_note(&write, 1));
	tap_is(races_found(), 1, "%s: but not write it", name);
	tap_ok(races_name(__FILE__, line) && races_name(__FILE__, line + 4),
	       "%s: the report names the copy and the host's access", name);
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	MUST(drover_stream_note(&write, 1));
	tap_is(races_found(), 0, "%s: once the ticket is done it may", name);

	MUST(drover_stream_copy_borrowed(&s, back, memory, BYTES, NULL));
	MUST(drover_stream_note(&look, 1));
	tap_is(races_found(), 1, "%s: a target that is looked at too early",
	       name);
	MUST(drover_stream_synchronize(&s));
	MUST(drover_stream_note(&look, 1));
	tap_is(races_found(), 0, "%s: and after a synchronization", name);
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

int main(void)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	void *memory = device_memory(&s, BYTES);

	tap_plan(3 + 6 * NR_CPU_BACKENDS);
	watchdog("borrowed sources");
	races_watch();
#ifdef __SANITIZE_THREAD__
	for (int i = 0; i < 3; i++)
		tap_skip("a borrowed source that has changed",
			 "ThreadSanitizer finds the race first");
	(void)test_changed;
#else
	test_changed(&s, memory);
#endif
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
	for_each_cpu_backend(test_noted);
	return tap_exit();
}
