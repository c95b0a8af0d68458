// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objection: a backend whose copies have threads of their own and no queue
 * in common, so that synchronizing it says nothing about them. Here a wait for
 * a stream is one for all of its operations.
 */
#include "blocks.h"

#define BYTES (1 << 20)
#define NR    4

static unsigned char host[NR][BYTES];

static void test(const char *name, int (*wait)(drover_stream_t *stream))
{
	drover_stream_t s =
		stream_of(DROVER_BACKEND_EAGER, DROVER_ORDER_ENGINE);
	unsigned char *memory = device_memory(&s, NR * BYTES);
	bool right = true;

	watchdog(name);
	for (int i = 0; i < NR; i++)
		memset(memory + i * BYTES, 0x40 + i, BYTES);
	memset(host, 0, sizeof(host));
	for (int i = 0; i < NR; i++)
		MUST(drover_stream_copy_borrowed(
			&s, host[i], memory + i * BYTES, BYTES, NULL));
	MUST(wait(&s));
	for (int i = 0; i < NR; i++)
		right &= all_are(host[i], 0x40 + i, BYTES);
	tap_ok(right, "%s: all copies are done", name);
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

/* Copies end in any order, their numbers in one. */
static void test_tickets(void)
{
	drover_stream_t s =
		stream_of(DROVER_BACKEND_EAGER, DROVER_ORDER_ENGINE);
	unsigned char *memory = device_memory(&s, NR * BYTES);
	drover_ticket_t tickets[NR];
	bool right = true;

	watchdog("tickets");
	memset(host, 0, sizeof(host));
	for (int i = 0; i < NR; i++) {
		size_t bytes = i % 2 ? 1 : BYTES;

		memset(memory + i * BYTES, 0x50 + i, BYTES);
		MUST(drover_stream_copy_borrowed(
			&s, host[i], memory + i * BYTES, bytes, &tickets[i]));
	}
	for (int i = NR - 1; i >= 0; i--) {
		size_t bytes = i % 2 ? 1 : BYTES;

		MUST(drover_ticket_wait(&tickets[i], CLOCK_MONOTONIC, NULL));
		right &= all_are(host[i], 0x50 + i, bytes);
	}
	tap_ok(right, "each ticket is done when its copy is");
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

int main(void)
{
	tap_plan(3);
	test("synchronize", drover_stream_synchronize);
	test("drain", drover_stream_drain);
	test_tickets();
	return tap_exit();
}
