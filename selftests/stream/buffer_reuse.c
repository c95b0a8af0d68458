// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same few buffers, step after step: what a step reads must not be
 * overwritten by the next one's input (write after read), in one stream and
 * with inputs that come by a stream of their own.
 *
 * APIs: drover stream/debug_buffer_reuse
 */
#include "blocks.h"

#define BYTES 1024
#define STEPS 60

static unsigned char input[BYTES], logits[STEPS][BYTES];

static void run(const char *name, drover_stream_t *copies,
		drover_stream_t *kernels, bool synchronizes)
{
	unsigned char *in = device_memory(kernels, BYTES);
	unsigned char *state = device_memory(kernels, BYTES);
	unsigned char sum = 0;
	bool right = true;

	memset(logits, 0, sizeof(logits));
	MUST(fill_submit(kernels, state, 0, BYTES, NULL));
	for (int i = 0; i < STEPS; i++) {
		memset(input, i, BYTES);
		MUST(drover_stream_copy_staged(copies, in, input, BYTES, NULL));
		if (synchronizes)
			MUST(drover_stream_synchronize(copies));
		MUST(add_submit(kernels, state, in, BYTES, NULL));
		MUST(drover_stream_copy_borrowed(copies, logits[i], state,
						 BYTES, NULL));
	}
	MUST(drover_stream_synchronize(copies));
	for (int i = 0; i < STEPS; i++) {
		sum += i;
		right &= all_are(logits[i], sum, BYTES);
	}
	tap_ok(right, "%s: every step has read its own input", name);
	MUST(drover_stream_free(kernels, state));
	MUST(drover_stream_free(kernels, in));
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t a = stream_of(backend, DROVER_ORDER_ENGINE);
	drover_stream_t b = stream_of(backend, DROVER_ORDER_ENGINE);
	char title[80];

	watchdog(name);
	for (int synchronizes = 0; synchronizes < 2; synchronizes++) {
		snprintf(title, sizeof(title), "%s, %ssynchronized", name,
			 synchronizes ? "" : "not ");
		run(title, &a, &a, synchronizes);
		strcat(title, ", two streams");
		run(title, &a, &b, synchronizes);
	}
	MUST(drover_stream_destroy(&b));
	MUST(drover_stream_destroy(&a));
}

int main(void)
{
	tap_plan(4 * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
