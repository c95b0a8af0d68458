// SPDX-License-Identifier: GPL-2.0-only
/*
 * An engine that leaves out a wait which is needed, on purpose: the checker
 * says so, and the result is wrong. What the other tests would see if the
 * engine had such a bug.
 */
#include "blocks.h"

#define BYTES 256

static unsigned char host[BYTES], back[BYTES];

/* One stream's kernel reads what the other's has yet to write. */
static void test(const char *name, uint32_t backend, bool planted)
{
	drover_stream_t a = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_stream_t b = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *from = device_memory(&a, BYTES);
	unsigned char *to = device_memory(&a, BYTES);
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;

	watchdog(name);
	MUST(fill_submit(&a, from, 1, BYTES, NULL));
	MUST(fill_submit(&a, to, 1, BYTES, NULL));
	MUST(drover_stream_drain(&a));
	gate_submit(&gate, &a, from, BYTES);
	atomic_store(&stream_plants.forget, planted);
	MUST(add_submit(&b, to, from, BYTES, &ticket));
	atomic_store(&stream_plants.forget, 0);
	tap_is(races_found(), planted, "%s, %s: races", name,
	       planted ? "a wait forgotten" : "none");
	if (planted)
		MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	gate_open(&gate);
	MUST(drover_stream_copy(&b, back, to, BYTES));
	tap_ok(all_are(back, planted ? 2 : gate.byte + 1, BYTES),
	       "%s, %s: the result is %s", name,
	       planted ? "a wait forgotten" : "none",
	       planted ? "wrong" : "right");
	MUST(drover_stream_free(&a, from));
	MUST(drover_stream_free(&a, to));
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

/* A copy that starts at once, over what a kernel has yet to read. */
static void test_copy(void)
{
	drover_stream_t s =
		stream_of(DROVER_BACKEND_EAGER, DROVER_ORDER_ENGINE);
	unsigned char *input = device_memory(&s, BYTES);
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;

	watchdog("a copy over an input");
	MUST(fill_submit(&s, input, 1, BYTES, NULL));
	MUST(drover_stream_drain(&s));
	MUST(gate_submit_access(&gate, &s,
				(drover_access_t){ input, BYTES, DROVER_READ },
				&ticket));
	memset(host, 3, BYTES);
	atomic_store(&stream_plants.forget, 1);
	MUST(drover_stream_copy_staged(&s, input, host, BYTES, NULL));
	atomic_store(&stream_plants.forget, 0);
	tap_is(races_found(), 1, "a copy over an input that is being read");
	gate_open(&gate);
	MUST(drover_stream_free(&s, input));
	MUST(drover_stream_destroy(&s));
}

int main(void)
{
	tap_plan(1 + 4 * NR_CPU_BACKENDS);
	races_watch();
	for (int planted = 0; planted < 2; planted++) {
		test("cpu", DROVER_BACKEND_CPU, planted);
		test("eager", DROVER_BACKEND_EAGER, planted);
	}
	test_copy();
	return tap_exit();
}
