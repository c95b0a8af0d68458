// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objection: on some backend a copy starts the moment it is submitted, even
 * if work that needs the old content is still under way. There the engine has
 * the host wait, since nothing else can; where a queue keeps the order, it does
 * not.
 */
#include "blocks.h"

#define BYTES 4096

static unsigned char host[BYTES], back[BYTES];

/* A kernel reads the input while the next input comes. */
static void test_write_after_read(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *input = device_memory(&s, BYTES);
	unsigned char *output = device_memory(&s, BYTES);
	bool waits = backend == DROVER_BACKEND_EAGER;
	struct gate gate = GATE_INIT;
	drover_stream_counts_t before;

	memset(host, 1, BYTES);
	MUST(drover_stream_copy(&s, input, host, BYTES));
	MUST(fill_submit(&s, output, 0, BYTES, NULL));
	gate_block(&gate, &s);
	MUST(add_submit(&s, output, input, BYTES, NULL));
	before = counts_of(&s);
	memset(host, 2, BYTES);
	if (waits)
		gate_open_when_asleep(&gate);
	MUST(drover_stream_copy_staged(&s, input, host, BYTES, NULL));
	if (waits)
		gate_was_waited_for(&gate);
	tap_is((long)(counts_of(&s).added_host - before.added_host), waits,
	       "%s: waits of the host for it", name);
	gate_open(&gate);
	MUST(drover_stream_copy(&s, back, output, BYTES));
	tap_ok(all_are(back, 1, BYTES), "%s: the kernel has read the old input",
	       name);
	MUST(drover_stream_copy(&s, back, input, BYTES));
	tap_ok(all_are(back, 2, BYTES), "%s: and the new one is there", name);
	MUST(drover_stream_free(&s, output));
	MUST(drover_stream_free(&s, input));
	MUST(drover_stream_destroy(&s));
}

/* A kernel needs a copy that nothing orders before it. */
static void test_read_after_write(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	unsigned char *input = device_memory(&s, BYTES);
	bool right = true;

	for (int i = 0; i < 50; i++) {
		memset(host, i, BYTES);
		MUST(drover_stream_copy_staged(&s, input, host, BYTES, NULL));
		MUST(drover_stream_synchronize(&s));
		MUST(add_submit(&s, input, input, BYTES, NULL));
		MUST(drover_stream_copy(&s, back, input, BYTES));
		right &= all_are(back, 2 * i, BYTES);
	}
	tap_ok(right, "%s: a kernel sees what was copied before it", name);
	MUST(drover_stream_free(&s, input));
	MUST(drover_stream_destroy(&s));
}

static void test(const char *name, uint32_t backend)
{
	watchdog(name);
	test_write_after_read(name, backend);
	test_read_after_write(name, backend);
}

int main(void)
{
	tap_plan(4 * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
