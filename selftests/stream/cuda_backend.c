// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CUDA backend, against a driver made of threads. This driver is strict:
 * copies to memory that is not pinned block, each thread has its own contexts,
 * and captures forbid calls. If it is told to, it refuses calls, returns late,
 * counts its calls and loses devices. Tests that need no such driver are in
 * on_device.c.
 */
#include "foreign.h"

#define LARGE (4 << 20)

static unsigned char large[LARGE];

/* large STREAM TO BYTE: a staged copy, after which the source may change */
STEP(large)
{
	int err;

	memset(large, args[2], LARGE);
	err = drover_stream_copy_staged(STREAM, TO, large, LARGE, NULL);
	memset(large, 0, LARGE);
	return err;
}

STEP(large_is)
{
	MUST(drover_stream_copy(STREAM, large, TO, LARGE));
	return !all_are(large, args[2], LARGE);
}

/* on DEVICE: the next streams are made there */
STEP_DO(on, script.attr.device = args[0]);

static pthread_t reader;
static bool in_time;

static void *wait_in_time(void *arg)
{
	in_time = script_say("until 1 1000;");
	return arg;
}

/*
 * times: another thread polls ticket 1 until its deadline, once in a
 * millisecond by now; "timed" joins it
 */
STEP(times)
{
	int enough = mock_cuda_calls("cuEventQuery") + 16;

	reader = thread_of(wait_in_time, NULL);
	wait_until(mock_cuda_calls("cuEventQuery") >= enough,
		   "the thread never polls the ticket");
	return 0;
}

STEP(timed)
{
	joined(reader);
	return !in_time;
}

static void *open_once_waited(void *gate)
{
	wait_until(mock_cuda_calls("cuStreamSynchronize"),
		   "the thread never waits for the stream");
	sem_post(gate);
	return NULL;
}

/*
 * once_waited GATE: the gate opens when this thread waits for a stream. The
 * mock's calls show that, while a sleep may be for one of its locks.
 */
STEP(once_waited)
{
	struct gate *gate = &script.gates[args[0]];

	mock_cuda_calls(NULL);
	gate->opener = thread_of(open_once_waited, &gate->opened);
	return 0;
}

static void *wait_for_ticket(void *arg)
{
	in_time = script_say("ticket 1");
	return arg;
}

/*
 * late: another thread waits for ticket 1, and its wait returns late;
 * "late_returns" lets it return and joins it
 */
STEP(late)
{
	mock_cuda_calls(NULL);
	mock_cuda_late(true);
	reader = thread_of(wait_for_ticket, NULL);
	wait_until(mock_cuda_calls("cuEventSynchronize"),
		   "the thread never waits for the ticket");
	return 0;
}

STEP(late_returns)
{
	mock_cuda_late(false);
	joined(reader);
	return !in_time;
}

/* finished TICKET: its result, as soon as the library knows it */
STEP(finished)
{
	const drover_ticket_t *ticket = &script.tickets[args[0]];

	wait_until(drover_ticket_done(ticket) != EINPROGRESS,
		   "the ticket is never done");
	return drover_ticket_done(ticket);
}

static int issue_too_large(void *stream, const void *args)
{
	void *function;

	if (cuModuleGetFunction(&function, NULL, "fill"))
		return EINVAL;
	return cuLaunchKernel(function, 1, 1, 1, 32, 64, 1, 0, stream, NULL,
			      NULL) ?
		       EIO :
		       0;
}

STEP(too_large)
{
	const drover_kernel_t kernel = { .issue = issue_too_large };
	drover_access_t writes = { TO, BYTES, DROVER_WRITE };

	return drover_stream_run(STREAM, &kernel, NULL, 0, &writes, 1, NULL);
}

STEP_DO(reset, mock_cuda_reset());
STEP_DO(early, mock_cuda_pageable_early(args[0]));
STEP_DO(elsewhere, mock_cuda_capture_elsewhere(args[0]));
STEP_IS(push, mock_cuda_push(args[0]));
STEP_IS(priority, (script.attr.priority = args[0]) == 0);
STEP_IS(priority_was, mock_cuda_priority());
STEP_IS(alloc_large,
	drover_stream_alloc(STREAM, LARGE, (void **)&script.memory[args[1]]));

/*
 * As many marks as the ring has, while another thread still waits for an older
 * mark
 */
#define MARK "fill s a 1 @2; until 2 0 = ETIMEDOUT; "
#define MARKS                                                                  \
	"gate x s @1; times s; open x; ticket 1; gate y s @2; "                \
	"until 2 0 = ETIMEDOUT; " MARK MARK MARK MARK MARK MARK MARK MARK MARK \
		MARK MARK MARK MARK MARK MARK "timed; open y; drain s; "

#define STAGE "set h 3; staged s a h; sync s; "
#define TOKEN STAGE STAGE STAGE STAGE "add s b a; copy s i b; "
#define TOKENS                                          \
	"fill s b 0; count; mark s; " TOKEN TOKEN TOKEN \
	"is i 9; since s = 13200; "
/*
 * The next operation cannot make a mark, and neither can the thread that waits
 * for it.
 */
#define UNMADE "refuse 'cuEventCreate 2; fill s a 1; refuse 'cuEventCreate 2; "
#define UNRECORDED \
	"refuse 'cuEventRecord 2; fill s a 1; refuse 'cuEventRecord 2; "
/* The results after the driver has refused or lost an operation. */
#define BROKEN "sync s = EIO; fill s a 1 = EIO; done 1 = 0; destroy s = EIO;"

static const drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
static const drover_kernel_t on_cpu = { .run = fill_run };
static drover_stream_t refused;
static void *none;

STEP_IS(try_alloc, drover_stream_alloc(STREAM, BYTES, &none));
STEP_IS(try_create, drover_stream_create(&refused, &attr));
STEP_IS(run_on_cpu, drover_stream_run(STREAM, &on_cpu, NULL, 0, NULL, 0, NULL));
STEP_IS(copy_none, drover_stream_copy(STREAM, none, script_host, 0));
NUMBER(ENOMEM, ENOMEM);
NUMBER(ENOTSUP, ENOTSUP);

static const struct scenario scenarios[] = {
	{ "cuda: calls that the driver refuses, and calls that never reach it",
	  "refuse 'cuMemAlloc_v2 2; try_alloc s = ENOMEM; "
	  "refuse 'cuStreamCreateWithPriority 2; try_create = ENOMEM; "
	  "run_on_cpu s = EINVAL; copy_none s; destroy s;" },
	/*
	 * The errors say whether there is a lack of memory or another reason.
	 */
	{ "cuda: memory that the driver does not pin",
	  "refuse 'cuMemHostRegister_v2 1; pin s h = EINVAL; "
	  "refuse 'cuMemHostRegister_v2 2; pin s h = ENOMEM; "
	  "refuse 'cuMemHostRegister_v2 712; pin s h = EINVAL; "
	  "why 'CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; "
	  "refuse 'cuMemHostRegister_v2 800; pin s h = EPERM; "
	  "refuse 'cuMemHostRegister_v2 801; pin s h = ENOTSUP; "
	  "pin s h; unpin s h; refuse 'cuMemHostRegister_v2 719; pin s h = EIO; "
	  "why 'CUDA_ERROR_LAUNCH_FAILED;" },
	/*
	 * A decode loop asks for synchronizations, and the library makes none.
	 */
	{ "cuda: synchronizations are elided",
	  "fill s a 0; drain s; " TOKENS "calls 'cu = 105; "
	  "calls 'cuStreamSynchronize = 3; calls 'cuEventRecord = 0;" },
	/* The same number of calls, in the program's own memory. */
	{ "cuda: synchronizations are elided in memory that is declared",
	  "arena; declare_arena s; declare s b = EINVAL; fill s a 0; drain s; " TOKENS
	  "calls 'cu = 105; undeclare s a; mark s; gate x s; "
	  "staged s a h; later x; sync s; waited x; since s = 1001; arena_goes;" },
	/*
	 * A device waits once whenever the memory changes from one stream to
	 * the other; the host does not wait.
	 */
	{ "cuda: two streams use the same memory",
	  "count; mark t; gate x s; fill s a 1; fill t b 2; "
	  "add t b a; add t b a; add s a b; calls 'cuStreamWaitEvent = 2; "
	  "host t = 0; open x; copy t i a; is i 5;" },
	{ "cuda: a graph is replayed, and another cannot be made",
	  "count; fill s b 0; capture s; borrow s a h; "
	  "add s b a; end s g; set h 1; replay s g; sync s; set h 2; "
	  "replay s g; sync s; copy s i b; is i 3; calls 'cuLaunchKernel = 2; "
	  "drop g; capture s; add s b a; "
	  "refuse 'cuGraphInstantiateWithFlags 719; end s g = EIO;" },
	{ "cuda: a copy fails",
	  "fill s a 1 @1; drain s; refuse 'cuMemcpyAsync 719; "
	  "staged s a h = EIO; why 'CUDA_ERROR_LAUNCH_FAILED; " BROKEN },
	{ "cuda: a kernel fails",
	  "fill s a 1 @1; drain s; refuse 'cuLaunchKernel 719; staged s a h; "
	  "fill s a 2 = EIO; why 'issue; " BROKEN },
	/* The gate keeps the operation from being done before the wait. */
	{ "cuda: a wait fails",
	  "fill s a 1 @1; drain s; gate x s; once_waited x; "
	  "refuse 'cuStreamSynchronize 719; staged s a h; fill s a 2; "
	  "drain s = EIO; waited x; sync s = EIO; fill s a 1 = EIO; "
	  "done 1 = 0; destroy s = EIO;" },
	/* Then a wait is for the whole stream, including later operations. */
	{ "cuda: the driver makes no event",
	  "count; gate x s; call s a @1; " UNMADE
	  "later x; ticket 1; called = 1; "
	  "waited x; gate y s; call s a @2; " UNRECORDED
	  "until 2 1 = ETIMEDOUT; refuse 'cuEventRecord 2; later y; ticket 2; "
	  "called = 2; waited y; calls 'cuEventSynchronize = 0; "
	  "calls 'cuStreamSynchronize = 2; fill t b 1; gate z s; fill s a 1; "
	  "refuse 'cuEventRecord 2; add t b a = EIO; open z; destroy t = EIO;" },
	{ "cuda: a context cannot be entered, and the caller's own stay",
	  "put s a 1; push 2 = 2; refuse 'cuCtxPushCurrent_v2 201; "
	  "fill s a 1 = EIO; push -2 = 0; destroy s = EIO;" },
	{ "cuda: another thread of the program captures",
	  "fill s a 5 @1; record s e; elsewhere 1; sync s; copy s h a; "
	  "elsewhere 0; is h 5;" },
	{ "cpu cuda: a large staged copy is waited for, except in a capture",
	  "alloc_large s a; gate x s; cuda: count; later x; large s a 3; waited x; "
	  "cuda: calls 'cuMemHostAlloc = 0; large_is s a 3; "
	  "capture s; large s a 5; end s g; replay s g; large_is s a 5; drop g;" },
	{ "cuda: a mark for which a thread waits is not used again",
	  "depth 16 = 0; create s; " MARKS MARKS MARKS MARKS MARKS },
	/*
	 * The mark of the late wait delays no other waits, not even for work
	 * behind all marks.
	 */
	{ "cuda: a wait returns late, and delays no other wait",
	  "depth 3 = 0; create s; fill t b 1; gate x s @1; fill s a 1 @3; "
	  "late; open x; finished 3; gate y s @2; until 2 0 = ETIMEDOUT; " MARK
	  "fill s a 1; add t b a; open y; late_returns; copy t h b; "
	  "is h 2;" },
	{ "cuda: work behind the last mark is found done at once",
	  "native s; gate x s @1; until 1 0 = ETIMEDOUT; fill s a 1 @2; open x; "
	  "idle; done 2;" },
	{ "cuda: a wait returns late, and the next ticket is found done",
	  "gate x s @1; fill s a 1; late; open x; finished 1; fill s a 2 @2; "
	  "finished 2; late_returns;" },
	{ "cuda: a stream's priority is passed to the driver",
	  "priority -3 = 0; create s; priority_was = -3; priority 0 = 1; "
	  "create t; priority_was = 0; fill s a 4; copy t h a; is h 4;" },
	/* Operations of one device come before or after those of another. */
	{ "cuda: devices wait for each other, the host does not",
	  "on 1; create s; on 0; create t; alloc s a; alloc t b; alloc t c; "
	  "count; mark t; fill s a 3; gate x s; fill s a 5; fill t b 1; "
	  "borrow t c a; add t b c; record s e; wait t e; "
	  "calls 'cuStreamWaitEvent = 1; host t = 0; open x; "
	  "copy t h b; is h 6;" },
	{ "cuda: a copy reaches memory of all devices, a set only its own",
	  "on 1; create s; on 0; create t; alloc s a; alloc t b; fill s a 2; "
	  "put t a 1 = EXDEV; why 'device; put t b 1; put s b 1 = EXDEV; "
	  "borrow t b a; copy t h b; is h 2; "
	  "borrow s b a; capture t; put t a 3 = EXDEV; borrow t b a; end t g; "
	  "replay t g; copy s h b; is h 2; drop g; destroy s; destroy t;" },
	{ "cuda: a borrowed stream is not destroyed",
	  "lend 1; create s; native s; count; destroy s; "
	  "calls 'cuStreamDestroy_v2 = 0; take_back;" },
	/*
	 * While the program captures, the driver says nothing about the
	 * stream's operations; once the capture has ended, it does.
	 */
	{ "cuda: a borrowed stream captures, and waits return EBUSY",
	  "lend 1; create s; fill s a 5; drain s; fill s a 6 @1; "
	  "program_captures; ticket 1 = EBUSY; why '(900); "
	  "drain s = EBUSY; destroy s = EBUSY; program_captured; drain s; "
	  "copy s h a; is h 6; destroy s; take_back = 1;" },
	/* The memory belongs to the copy until the copy is done. */
	{ "cuda: copies from and to pageable memory return early",
	  "early 1; set h 3; set i 0; gate x s; borrow s a h; borrow s i a @1; "
	  "done 1 = EINPROGRESS; is i 0; later x; sync s; waited x; is i 3; "
	  "gate y s; set h 4; staged s a h; set h 5; later y; copy s i a; "
	  "waited y; is i 4; early 0;" },
	/* The context cannot be used after the fault; another device can. */
	{ "cuda: a fault ends all streams of a context",
	  "on 1; create u; on 0; alloc u c; alloc s a; "
	  "gate x t; fill t b 1 @1; refuse 'cuLaunchKernel 719; "
	  "fill s a 1 = EIO; drain t = EIO; ticket 1 = EIO; "
	  "try_alloc s = EIO; try_create = EIO; why 'CUDA_ERROR_LAUNCH_FAILED; "
	  "open x; destroy s = EIO; destroy t = EIO; destroy t = EBADF; "
	  "put u c 5; copy u h c; is h 5; reset; try_create;" },
	{ "cuda: a kernel may touch host memory only if it is pinned",
	  "fill s p 4; sync s; is p 4; fill t b 1; drain t; fill s h 4 @1; "
	  "ticket 1 = EIO; why 'CUDA_ERROR_ILLEGAL_ADDRESS; drain s = EIO; "
	  "fill t b 1 = EIO; drain t = EIO; destroy s = EIO;" },
	{ "cuda: a launch that is too large ends only its own stream",
	  "too_large s a = EIO; drain s = EIO; fill t b 3; copy t h b; is h 3;" },
	{ "cuda: a reset ends streams, and frees slots, ranges and pins",
	  "pin s h; gate x s; fill s a 1 @1; record s e; reset; "
	  "done 1 = EIO; why 'CUDA_ERROR_CONTEXT_IS_DESTROYED; sync s = EIO; "
	  "wait t e = EIO; destroy s = EIO; destroy s = EBADF; "
	  "destroy t = EIO; open x; create s; free s a; unpin s h; alloc s a; "
	  "pin s h; fill s a 5; copy s h a; is h 5; unpin s h;" },
	{ "cuda: a wait for a device that was reset returns at once",
	  "gate x s; fill s a 1; reset; drain s = EIO; destroy s = EIO; open x; "
	  "create s; free s a;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
