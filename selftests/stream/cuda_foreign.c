// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that uses the CUDA driver itself, or a library that does: its CUstream
 * is borrowed, one of ours handed out, and work that it puts there by itself is
 * ordered by what it is said to touch, like any other.
 */
#include "../mock/cuda/mock_cuda.h"

#define BYTES 512

static unsigned char back[BYTES];
static int nr_issued;

/* What a library does that is given a CUstream. */
struct foreign {
	void *to;
	int byte, err;
};

static int foreign_issue(void *native, const void *args)
{
	const struct foreign *f = args;

	nr_issued++;
	if (f->err)
		return f->err;
	return mock_cuda.set((uintptr_t)f->to, (unsigned char)f->byte, BYTES,
			     native) ?
		       EIO :
		       0;
}

static int foreign_submit(drover_stream_t *s, struct foreign f,
			  drover_ticket_t *ticket)
{
	const drover_kernel_t kernel = { .issue = foreign_issue };
	drover_access_t writes = { f.to, BYTES, DROVER_WRITE };

	return drover_stream_run(s, &kernel, &f, sizeof(f), &writes, 1, ticket);
}

/* Both ways: what comes before it and what comes behind, in another stream. */
static void test_order(drover_stream_t *s, drover_stream_t *other)
{
	unsigned char *a = device_memory(s, BYTES);
	unsigned char *b = device_memory(s, BYTES);
	struct gate gate = GATE_INIT;

	watchdog("the order of foreign work");
	MUST(drover_stream_set(s, a, 1, BYTES, NULL));
	MUST(drover_stream_set(s, b, 1, BYTES, NULL));
	cuda_gate_block(&gate, other);
	MUST(cuda_add_submit(other, b, a, BYTES, NULL));
	MUST(foreign_submit(s, (struct foreign){ a, 7, 0 }, NULL));
	MUST(cuda_add_submit(other, b, a, BYTES, NULL));
	gate_open(&gate);
	MUST(drover_stream_copy(other, back, b, BYTES));
	tap_ok(all_are(back, 9, BYTES),
	       "foreign work is behind what reads, in front of what reads later");
	MUST(drover_stream_free(s, a));
	MUST(drover_stream_free(s, b));
}

static void test_graph(drover_stream_t *s)
{
	unsigned char *a = device_memory(s, BYTES);
	drover_graph_t *graph;

	watchdog("foreign work in a graph");
	MUST(drover_stream_set(s, a, 0, BYTES, NULL));
	nr_issued = 0;
	MUST(drover_stream_capture(s));
	MUST(foreign_submit(s, (struct foreign){ a, 3, 0 }, NULL));
	MUST(cuda_add_submit(s, a, a, BYTES, NULL));
	MUST(drover_stream_capture_end(s, &graph));
	MUST(drover_graph_replay(s, graph, NULL));
	MUST(drover_stream_set(s, a, 9, BYTES, NULL));
	MUST(drover_graph_replay(s, graph, NULL));
	MUST(drover_stream_copy(s, back, a, BYTES));
	tap_ok(nr_issued == 1 && all_are(back, 6, BYTES),
	       "captured once, and replayed");
	MUST(drover_graph_destroy(graph));
	MUST(drover_stream_free(s, a));
}

static void test_failure(void)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, BYTES);

	watchdog("foreign work that fails");
	tap_is(foreign_submit(&s, (struct foreign){ a, 0, ENOSPC }, NULL),
	       ENOSPC, "its error is that of the submit");
	MUST(drover_stream_free(&s, a));
	tap_is(drover_stream_destroy(&s), ENOSPC, "and of the stream");
}

static void test_set(drover_stream_t *s)
{
	void *pinned;

	watchdog("bytes that are set");
	MUST(drover_stream_alloc_host(s, BYTES, &pinned));
	MUST(drover_stream_set(s, pinned, 5, BYTES, NULL));
	MUST(drover_stream_synchronize(s));
	tap_ok(all_are(pinned, 5, BYTES),
	       "pinned memory is set, and waited for");
	tap_is(drover_stream_set(s, back, 5, BYTES, NULL), EXDEV,
	       "memory that the driver does not know: EXDEV");
	MUST(drover_stream_free(s, pinned));
}

static void test_borrowed(void)
{
	drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
	drover_stream_t s, other;
	void *native = NULL;
	int destroyed;

	watchdog("a borrowed stream");
	other = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	mock_cuda_kernels(&other);
	mock_cuda.push(1);
	if (mock_cuda.stream_create(&attr.native, 1, 0))
		tap_bail("no CUstream");
	MUST(drover_stream_create(&s, &attr));
	MUST(drover_stream_native(&s, &native));
	tap_ok(native == attr.native, "it is the one that was lent");
	test_order(&s, &other);
	test_order(&other, &s);
	test_graph(&s);
	test_set(&s);
	destroyed = mock_cuda.calls("cuStreamDestroy_v2");
	MUST(drover_stream_destroy(&s));
	tap_is(mock_cuda.calls("cuStreamDestroy_v2") - destroyed, 0,
	       "and left alone in the end");
	mock_cuda.stream_destroy(attr.native);
	MUST(drover_stream_destroy(&other));
	mock_cuda.push(-1);
}

/* What others put into ours, knowing nothing of us, is in front of what follows. */
static void test_handed_out(void)
{
	drover_streamattr_t wrong = { .native = back };
	drover_stream_t s = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	drover_stream_t cpu =
		stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	unsigned char *a = device_memory(&s, BYTES);
	void *native;

	watchdog("a stream that is handed out");
	MUST(drover_stream_native(&s, &native));
	MUST(drover_stream_set(&s, a, 1, BYTES, NULL));
	mock_cuda.push(1);
	mock_cuda.set((uintptr_t)a, 4, BYTES, native);
	mock_cuda.push(-1);
	MUST(cuda_add_submit(&s, a, a, BYTES, NULL));
	MUST(drover_stream_copy(&s, back, a, BYTES));
	tap_ok(all_are(back, 8, BYTES), "in front of what is submitted later");
	tap_is(drover_stream_native(&cpu, &native), EINVAL,
	       "the CPU has none to hand out");
	tap_is(drover_stream_create(&cpu, &wrong), EINVAL, "nor to be lent");
	MUST(drover_stream_free(&s, a));
	MUST(drover_stream_destroy(&s));
	MUST(drover_stream_destroy(&cpu));
}

int main(void)
{
	tap_plan(12);
	mock_cuda_start();
	test_borrowed();
	test_handed_out();
	test_failure();
	return tap_exit();
}
