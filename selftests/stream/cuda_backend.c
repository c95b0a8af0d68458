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

static const drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
static const drover_kernel_t on_cpu = { .run = fill_run };
static drover_stream_t refused;
static drover_kernel_t unknown;
static void *none;

STEP_IS(try_alloc, drover_stream_alloc(STREAM, BYTES, &none));
STEP_IS(try_create, drover_stream_create(&refused, &attr));
STEP_IS(run_on_cpu, drover_stream_run(STREAM, &on_cpu, NULL, 0, NULL, 0, NULL));
STEP_IS(load, drover_stream_load(STREAM, "", "no such", &unknown));
STEP_IS(copy_none, drover_stream_copy(STREAM, none, script_host, 0));
TEXT(cuMemAlloc_v2);
TEXT(cuStreamCreateWithPriority);
NUMBER(ENOMEM, ENOMEM);
NUMBER(ENOENT, ENOENT);

static const struct scenario scenarios[] = {
	{ "cuda: what the driver refuses, and what is none of its",
	  "refuse cuMemAlloc_v2 2; try_alloc s = ENOMEM; "
	  "refuse cuStreamCreateWithPriority 2; try_create = ENOMEM; "
	  "run_on_cpu s = EINVAL; load s = ENOENT; copy_none s; destroy s;" },
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

int main(void)
{
	mock_cuda_start();
	return scripts_main(scenarios, NULL, 0);
}
