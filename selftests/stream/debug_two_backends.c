// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two backends that copy into each other's memory, with no wait in between that
 * anybody has asked for: each step reads what the other one wrote.
 */
#include "blocks.h"

#define BYTES  2048
#define ROUNDS 40

static unsigned char back[BYTES];

static void ping_pong(const char *name, uint32_t one, uint32_t two)
{
	drover_stream_t a = stream_of(one, DROVER_ORDER_ENGINE);
	drover_stream_t b = stream_of(two, DROVER_ORDER_ENGINE);
	unsigned char *in_a = device_memory(&a, BYTES);
	unsigned char *in_b = device_memory(&b, BYTES);
	unsigned char *ones = device_memory(&a, BYTES);
	drover_stream_counts_t counts;

	watchdog(name);
	MUST(fill_submit(&a, in_a, 0, BYTES, NULL));
	MUST(fill_submit(&a, ones, 1, BYTES, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		MUST(drover_stream_copy_staged(&b, in_b, in_a, BYTES, NULL));
		MUST(add_submit(&b, in_b, ones, BYTES, NULL));
		MUST(drover_stream_copy_borrowed(&a, in_a, in_b, BYTES, NULL));
		MUST(add_submit(&a, in_a, ones, BYTES, NULL));
	}
	MUST(drover_stream_copy(&b, back, in_a, BYTES));
	tap_ok(all_are(back, 2 * ROUNDS, BYTES), "%s: %d rounds", name, ROUNDS);
	counts = counts_of(&b);
	tap_diag("of the second: waits of the device %llu, of the host %llu",
		 (unsigned long long)counts.added_device,
		 (unsigned long long)counts.added_host);
	/* The host is to wait at the end alone, if the devices can. */
	if (one == DROVER_BACKEND_CPU && two == DROVER_BACKEND_CPU)
		tap_is((long)counts.added_host, 0, "%s: no wait of the host",
		       name);
	MUST(drover_stream_free(&a, ones));
	MUST(drover_stream_free(&a, in_a));
	MUST(drover_stream_free(&b, in_b));
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

int main(void)
{
	tap_plan(5);
	ping_pong("cpu and cpu", DROVER_BACKEND_CPU, DROVER_BACKEND_CPU);
	ping_pong("cpu and eager", DROVER_BACKEND_CPU, DROVER_BACKEND_EAGER);
	ping_pong("eager and cpu", DROVER_BACKEND_EAGER, DROVER_BACKEND_CPU);
	ping_pong("eager and eager", DROVER_BACKEND_EAGER,
		  DROVER_BACKEND_EAGER);
	return tap_exit();
}
