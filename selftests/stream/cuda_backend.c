// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CUDA backend, against a driver made of threads: operations, waits by the
 * device, elision, graphs, events, other backends, and every way to fail.
 */
#include "script.h"

#define STAGE "set h 3; staged s a h; sync s; "
#define TOKEN STAGE STAGE STAGE STAGE "add s b a; copy s i b; "
#define ROUND "borrow s b a; add t b b; staged s a b; "
/* A driver that refuses an operation, or loses one. */
#define BROKEN                                                           \
	"why CUDA_ERROR_LAUNCH_FAILED; sync s = EIO; fill s a 1 = EIO; " \
	"done 1 = 0; destroy s = EIO;"

static const struct scenario scenarios[] = {
	{ "cuda: operations", "set h 3; staged s a h; set h 4; fill s b 5; "
			      "add s b a; copy s i b; is i 8;" },
	/* The decode loop: synchronizations asked for, and none of them made. */
	{ "cuda: elision",
	  "count; mark s; "
	  "fill s b 0; " TOKEN TOKEN TOKEN "is i 9; since s = 13200; "
	  "calls cuStreamSynchronize = 3; calls cuEventRecord = 0;" },
	/* What is behind it is not waited for: it cannot be done. */
	{ "cuda: a ticket",
	  "gate x s; fill s a 1 @1; gate y s; "
	  "done 1 = EINPROGRESS; over 1 = ETIMEDOUT; "
	  "soon 1 = ETIMEDOUT; open x; ticket 1 = 0; open y;" },
	/* The device waits once for each change of hands, the host does not. */
	{ "cuda: two streams",
	  "count; mark t; gate x s; fill s a 1; fill t b 2; "
	  "add t b a; add t b a; add s a b; calls cuStreamWaitEvent = 2; "
	  "host t = 0; open x; copy t i a; is i 5;" },
	{ "cuda: a graph",
	  "count; fill s b 0; capture s; borrow s a h; "
	  "add s b a; end s g; set h 1; replay s g; sync s; set h 2; "
	  "replay s g; sync s; copy s i b; is i 3; calls cuLaunchKernel = 2; "
	  "drop g; capture s; add s b a; "
	  "refuse cuGraphInstantiateWithFlags 719; end s g = EIO;" },
	{ "cuda: a copy fails",
	  "fill s a 1 @1; drain s; refuse cuMemcpyAsync 719; "
	  "staged s a h = EIO; " BROKEN },
	{ "cuda: a kernel fails",
	  "fill s a 1 @1; drain s; refuse cuLaunchKernel 719; staged s a h; "
	  "fill s a 2 = EIO; " BROKEN },
	/* Or it would be done before it is waited for. */
	{ "cuda: a wait fails",
	  "fill s a 1 @1; drain s; gate x s; later x; "
	  "refuse cuStreamSynchronize 719; staged s a h; fill s a 2; "
	  "drain s = EIO; waited x; sync s = EIO; fill s a 1 = EIO; "
	  "done 1 = 0; destroy s = EIO;" },
	{ "cuda: a host call fails",
	  "deny s @1; ticket 1 = ENOSPC; destroy s = ENOSPC;" },
	{ "cuda: memory outlives the last stream, and so do graphs",
	  "fill s a 7; capture s; add s a a; end s g; destroy s; create s; "
	  "copy s i a; is i 7; replay s g = 0; drop g; copy s i a; is i 14;" },
	{ "cuda: copies from and to pinned memory block nobody",
	  "set p 4; gate x s; borrow s a p; add s a a; borrow s p a @1; "
	  "done 1 = EINPROGRESS; later x; sync s; waited x; is p 8;" },
	{ "cuda: a call in a graph fails where it is replayed, and nowhere else",
	  "capture s; deny s; end s g; destroy s; create s; replay t g @1; "
	  "ticket 1 = ENOSPC; drain s = 0; drop g; destroy t = ENOSPC;" },
	{ "cuda+cpu: copies into each other",
	  "alloc t b; fill s a 1; " ROUND ROUND ROUND "fill s a 1; " ROUND ROUND
	  "copy s i a; is i 4; copy t i a = EXDEV; record s e; wait t e; "
	  "record t e; wait s e = 0;" },
	{ NULL, NULL },
};

static void test_refused(void)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	const drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
	const drover_kernel_t on_cpu = { .run = fill_run };
	drover_kernel_t kernel;
	drover_stream_t t;
	void *memory;

	mock_cuda_fail("cuMemAlloc_v2", 0, 2);
	IS(ENOMEM, drover_stream_alloc(&s, BYTES, &memory));
	mock_cuda_fail("cuStreamCreateWithPriority", 0, 2);
	IS(ENOMEM, drover_stream_create(&t, &attr));
	tap_is(drover_stream_run(&s, &on_cpu, NULL, 0, NULL, 0, NULL), EINVAL,
	       "a kernel of another backend: EINVAL");
	IS(ENOENT, drover_stream_load(&s, "", "no such", &kernel));
	tap_is(drover_stream_copy(&s, memory, script_host, 0), 0,
	       "a copy of nothing");
	IS(0, drover_stream_destroy(&s));
}

int main(void)
{
	mock_cuda_start();
	return scripts_main(scenarios, test_refused, 6);
}
