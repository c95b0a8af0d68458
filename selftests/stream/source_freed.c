// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objection: the source is under the host's control, which may free it
 * when the call returns. A staged copy has read it by then; so has every copy
 * that blocks.
 *
 * APIs: drover stream/debug_source_freed
 */
#include <sys/mman.h>

#include "blocks.h"

#define BYTES 8192

static void *mapped(int byte)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		tap_bail("mmap");
	return memset(memory, byte, BYTES);
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);
	struct gate gate = GATE_INIT;
	void *memory = device_memory(&s, BYTES), *source = mapped(0x31);
	unsigned char back[BYTES];
	uint64_t before;

	watchdog(name);
	/* In a queue it comes much later than the source goes. */
	gate_block(&gate, &s);
	MUST(drover_stream_copy_staged(&s, memory, source, BYTES, NULL));
	munmap(source, BYTES);
	gate_open(&gate);
	MUST(drover_stream_copy(&s, back, memory, BYTES));
	tap_ok(all_are(back, 0x31, BYTES), "%s: staged, then unmapped", name);

	source = mapped(0x32);
	MUST(drover_stream_copy(&s, memory, source, BYTES));
	munmap(source, BYTES);
	MUST(drover_stream_copy(&s, back, memory, BYTES));
	tap_ok(all_are(back, 0x32, BYTES), "%s: copied, then unmapped", name);

	/* The source is still being written when the call begins. */
	gate = (struct gate)GATE_INIT;
	source = mapped(0);
	gate_submit(&gate, &s, source, BYTES);
	gate_open_when_asleep(&gate);
	before = counts_of(&s).added_host;
	MUST(drover_stream_copy_staged(&s, memory, source, BYTES, NULL));
	before = counts_of(&s).added_host - before;
	gate_was_waited_for(&gate);
	munmap(source, BYTES);
	MUST(drover_stream_copy(&s, back, memory, BYTES));
	tap_ok(all_are(back, gate.byte, BYTES),
	       "%s: staged from what an operation writes: after it", name);
	tap_is((long)before, 1, "%s: by one wait", name);
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

int main(void)
{
	tap_plan(4 * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
