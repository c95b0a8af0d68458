// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CUDA backend, against a driver made of threads: operations, waits by the
 * device, elision, graphs, events, other backends, and every way to fail.
 */
#include <stdlib.h>

#include "blocked.h"
#include "../mock/cuda/mock_cuda.h"

#define BYTES 512

static unsigned char host[BYTES], back[BYTES];

static void test_operations(drover_stream_t *s)
{
	unsigned char *a = device_memory(s, BYTES);
	unsigned char *b = device_memory(s, BYTES);
	const drover_kernel_t on_cpu = { .run = fill_run };
	drover_kernel_t kernel;

	memset(host, 3, BYTES);
	MUST(drover_stream_copy_staged(s, a, host, BYTES, NULL));
	memset(host, 4, BYTES);
	MUST(cuda_fill_submit(s, b, 5, BYTES, NULL));
	MUST(cuda_add_submit(s, b, a, BYTES, NULL));
	MUST(drover_stream_copy(s, back, b, BYTES));
	tap_ok(all_are(back, 8, BYTES), "staged copy, kernels, read-back");
	tap_is(drover_stream_run(s, &on_cpu, NULL, 0, NULL, 0, NULL), EINVAL,
	       "a kernel of another backend: EINVAL");
	tap_is(drover_stream_load(s, "", "no such", &kernel), ENOENT,
	       "no such kernel: ENOENT");
	tap_is(drover_stream_copy(s, a, host, 0), 0, "a copy of nothing");
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_free(s, b));
}

/* The decode loop: synchronizations asked for, and none of them made. */
static void test_elision(drover_stream_t *s)
{
	unsigned char *in = device_memory(s, 4 * BYTES);
	unsigned char *out = device_memory(s, BYTES);
	drover_stream_counts_t before = counts_of(s), after;
	int waits = mock_cuda.calls("cuStreamSynchronize");
	int marks = mock_cuda.calls("cuEventRecord");

	MUST(cuda_fill_submit(s, out, 0, BYTES, NULL));
	for (int token = 0; token < 10; token++) {
		for (int i = 0; i < 4; i++) {
			memset(host, token, BYTES);
			MUST(drover_stream_copy_staged(s, in + i * BYTES, host,
						       BYTES, NULL));
			MUST(drover_stream_synchronize(s));
		}
		MUST(cuda_add_submit(s, out, in, BYTES, NULL));
		MUST(drover_stream_copy(s, back, out, BYTES));
	}
	after = counts_of(s);
	tap_ok(all_are(back, 45, BYTES), "ten tokens: the right result");
	tap_is((long)(after.elided - before.elided), 40,
	       "40 synchronizations elided");
	tap_is(mock_cuda.calls("cuStreamSynchronize") - waits, 10,
	       "one wait a token");
	tap_is(mock_cuda.calls("cuEventRecord") - marks, 0, "and no event");
	MUST(drover_stream_free(s, in));
	MUST(drover_stream_free(s, out));
}

static void test_tickets(drover_stream_t *s)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 3 * NS_PER_MS);
	unsigned char *a = device_memory(s, BYTES);
	struct gate gate = GATE_INIT, last = GATE_INIT;
	drover_ticket_t ticket;

	cuda_gate_block(&gate, s);
	MUST(cuda_fill_submit(s, a, 1, BYTES, &ticket));
	cuda_gate_block(&last, s);
	tap_is(drover_ticket_done(&ticket), EINPROGRESS, "not done yet");
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &past), ETIMEDOUT,
	       "a deadline that has passed");
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &soon), ETIMEDOUT,
	       "a deadline that passes");
	gate_open(&gate);
	/* What is behind it is not waited for: it cannot be done. */
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), 0,
	       "a ticket is not for what is behind it");
	gate_open(&last);
	MUST(drover_stream_drain(s));
	MUST(drover_stream_free(s, a));
}

/* Two streams: the device waits, the host does not. */
static void test_two_streams(drover_stream_t *s)
{
	drover_stream_t t = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(s, BYTES);
	unsigned char *b = device_memory(s, BYTES);
	int waits = mock_cuda.calls("cuStreamWaitEvent");
	struct gate gate = GATE_INIT;

	cuda_gate_block(&gate, s);
	MUST(cuda_fill_submit(s, a, 1, BYTES, NULL));
	MUST(cuda_fill_submit(&t, b, 2, BYTES, NULL));
	MUST(cuda_add_submit(&t, b, a, BYTES, NULL));
	MUST(cuda_add_submit(&t, b, a, BYTES, NULL));
	MUST(cuda_add_submit(s, a, b, BYTES, NULL));
	tap_is(mock_cuda.calls("cuStreamWaitEvent") - waits, 2,
	       "two streams: the device waits once for each change of hands");
	tap_is((long)counts_of(&t).added_host, 0, "and the host does not");
	gate_open(&gate);
	MUST(drover_stream_copy(&t, back, a, BYTES));
	tap_ok(all_are(back, 5, BYTES), "two streams: the right result");
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_free(s, b));
	MUST(drover_stream_destroy(&t));
}

static void test_with_cpu(drover_stream_t *s)
{
	drover_stream_t c = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	unsigned char *on_cuda = device_memory(s, BYTES);
	unsigned char *on_cpu = device_memory(&c, BYTES);
	drover_event_t event;

	MUST(cuda_fill_submit(s, on_cuda, 1, BYTES, NULL));
	for (int i = 0; i < 20; i++) {
		MUST(drover_stream_copy_borrowed(s, on_cpu, on_cuda, BYTES,
						 NULL));
		MUST(add_submit(&c, on_cpu, on_cpu, BYTES, NULL));
		MUST(drover_stream_copy_staged(s, on_cuda, on_cpu, BYTES,
					       NULL));
		if (i % 3 == 2)
			MUST(cuda_fill_submit(s, on_cuda, 1, BYTES, NULL));
	}
	MUST(drover_stream_copy(s, back, on_cuda, BYTES));
	tap_ok(all_are(back, 4, BYTES), "cuda and cpu copy into each other");
	tap_is(drover_stream_copy(&c, back, on_cuda, BYTES), EXDEV,
	       "memory that the CPU backend cannot reach: EXDEV");
	MUST(drover_stream_record(s, &event));
	MUST(drover_stream_wait_event(&c, &event));
	MUST(drover_stream_record(&c, &event));
	tap_is(drover_stream_wait_event(s, &event), 0,
	       "events of another backend");
	MUST(drover_stream_free(s, on_cuda));
	MUST(drover_stream_free(&c, on_cpu));
	MUST(drover_stream_destroy(&c));
}

static void test_graph(drover_stream_t *s)
{
	unsigned char *a = device_memory(s, BYTES);
	unsigned char *b = device_memory(s, BYTES);
	int launches = mock_cuda.calls("cuLaunchKernel");
	drover_graph_t *graph;

	MUST(cuda_fill_submit(s, b, 0, BYTES, NULL));
	MUST(drover_stream_capture(s));
	MUST(drover_stream_copy_borrowed(s, a, host, BYTES, NULL));
	MUST(cuda_add_submit(s, b, a, BYTES, NULL));
	MUST(drover_stream_capture_end(s, &graph));
	for (int i = 1; i <= 4; i++) {
		memset(host, i, BYTES);
		MUST(drover_graph_replay(s, graph, NULL));
		MUST(drover_stream_synchronize(s));
	}
	MUST(drover_stream_copy(s, back, b, BYTES));
	tap_ok(all_are(back, 10, BYTES), "a graph, replayed four times");
	tap_is(mock_cuda.calls("cuLaunchKernel") - launches, 2,
	       "its kernel was launched for the capture alone");
	MUST(drover_graph_destroy(graph));
	MUST(drover_stream_capture(s));
	MUST(cuda_add_submit(s, b, a, BYTES, NULL));
	mock_cuda.fail("cuGraphInstantiateWithFlags", 0, 719);
	tap_is(drover_stream_capture_end(s, &graph), EIO,
	       "a graph that the driver refuses: EIO");
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_free(s, b));
}

/* The driver refuses an operation, or loses one. */
static void test_failure(const char *function, bool at_once)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, BYTES);
	drover_ticket_t before, ticket;
	struct gate gate = GATE_INIT;
	int err;

	watchdog(function);
	MUST(cuda_fill_submit(&s, a, 1, BYTES, &before));
	MUST(drover_stream_drain(&s));
	/* Or it would be done before it is waited for. */
	if (!at_once) {
		cuda_gate_block(&gate, &s);
		gate_open_when_asleep(&gate);
	}
	mock_cuda.fail(function, 0, 719);
	err = drover_stream_copy_staged(&s, a, host, BYTES, NULL);
	if (!err)
		err = cuda_fill_submit(&s, a, 2, BYTES,
				       at_once ? &ticket : NULL);
	if (at_once)
		tap_is(err, EIO, "%s fails: the call says so", function);
	else
		tap_is(drover_stream_drain(&s), EIO,
		       "%s fails: the wait says so", function);
	if (!at_once)
		gate_was_waited_for(&gate);
	tap_ok(strstr(drover_stream_why(), "CUDA_ERROR_LAUNCH_FAILED") ||
		       strstr(drover_stream_why(), "failed before"),
	       "%s fails: why", function);
	tap_is(drover_stream_synchronize(&s), EIO, "%s fails: the stream",
	       function);
	tap_is(cuda_fill_submit(&s, a, 1, BYTES, NULL), EIO,
	       "%s fails: later operations", function);
	tap_is(drover_ticket_done(&before), 0, "%s fails: not what was before",
	       function);
	MUST(drover_stream_free(&s, a));
	tap_is(drover_stream_destroy(&s), EIO, "%s fails: the end", function);
}

static int no_space(void *arg)
{
	(void)arg;
	return ENOSPC;
}

static void test_refused(drover_stream_t *s)
{
	drover_stream_t t = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	drover_ticket_t ticket;
	void *memory;

	mock_cuda.fail("cuMemAlloc_v2", 0, 2);
	tap_is(drover_stream_alloc(s, BYTES, &memory), ENOMEM,
	       "no device memory: ENOMEM");
	mock_cuda.fail("cuStreamCreate", 0, 2);
	tap_is(drover_stream_create(&t,
				    &(drover_streamattr_t){
					    .backend = DROVER_BACKEND_CUDA }),
	       ENOMEM, "no stream: ENOMEM");
	MUST(drover_stream_host_call(&t, no_space, NULL, NULL, 0, &ticket));
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "a host call that fails");
	tap_is(drover_stream_destroy(&t), ENOSPC, "and its stream");
}

int main(void)
{
	drover_stream_t s;

	tap_plan(44);
	watchdog("operations");
	mock_cuda_start();
	s = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	mock_cuda_kernels(&s);
	test_operations(&s);
	test_elision(&s);
	test_tickets(&s);
	test_two_streams(&s);
	test_with_cpu(&s);
	test_graph(&s);
	test_failure("cuMemcpyAsync", true);
	test_failure("cuLaunchKernel", true);
	test_failure("cuStreamSynchronize", false);
	test_refused(&s);
	tap_is(drover_stream_destroy(&s), 0, "the end");
	return tap_exit();
}
