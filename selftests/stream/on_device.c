// SPDX-License-Identifier: GPL-2.0-only
/*
 * The promises that a CUDA backend keeps on any device, even if the program
 * calls the driver itself. The driver is the mock, or a real one:
 *
 *	LD_PRELOAD=libcuda.so.1 DROVER_CUDA_LIBRARY=libcuda.so.1 on_device
 *
 * So the only function of the mock that may be used here is mock_cuda_launch(),
 * and the host must not touch device memory.
 */
#include "foreign.h"

/*
 * A thread that is going to wait. Some drivers sleep in a wait, and others keep
 * the CPU busy.
 */
static struct waiter {
	atomic_int tid;
	clockid_t clock;
	int64_t since;
} waiter;

static void waiter_is_this(void)
{
	pthread_getcpuclockid(pthread_self(), &waiter.clock);
	waiter.since = ns_of(waiter.clock);
	waiter.tid = blocked_gettid();
}

static bool waiter_waits(void)
{
	char stat[512] = "";

	if (ns_of(waiter.clock) - waiter.since > 20 * NS_PER_MS)
		return true;
	return blocked_read(getpid(), waiter.tid, "stat", stat, sizeof(stat)) >
		       0 &&
	       strstr(stat, ") S ");
}

static void *open_soon(void *gate)
{
	wait_until(waiter_waits(), "the thread never waits");
	sem_post(gate);
	return NULL;
}

/* soon GATE: the gate opens when this thread waits; "waited" follows */
STEP(soon)
{
	struct gate *gate = &script.gates[args[0]];

	waiter_is_this();
	gate->opener = thread_of(open_soon, &gate->opened);
	return 0;
}

static pthread_t reader;

static void *read_back(void *arg)
{
	waiter_is_this();
	script_say("copy s h a;");
	return arg;
}

/* copies: another thread makes a copy, which blocks; "copied" joins it */
STEP(copies)
{
	waiter.tid = 0;
	reader = thread_of(read_back, NULL);
	reached(&waiter.tid, 1);
	wait_until(waiter_waits(), "the thread never waits");
	return 0;
}

STEP_DO(copied, joined(reader));

#define GATES_FULL                                         \
	"fill s a 1; fill s a 1; fill s a 1; fill s a 1; " \
	"fill s a 1; fill s a 1; fill s a 1; "

#define ROUND "borrow s b a; add t b b; staged s a b; "
#define STAGE "set h 3; staged s a h; sync s; "
#define TOKEN STAGE STAGE STAGE STAGE "add s b a; copy s i b; "

static const struct scenario scenarios[] = {
	{ "cuda: copies and kernels in one stream",
	  "set h 3; staged s a h; set h 4; fill s b 5; "
	  "add s b a; copy s i b; is i 8;" },
	/* The wait does not include the gate behind the ticket. */
	{ "cuda: a ticket is done before later operations",
	  "gate x s; fill s a 1 @1; gate y s; "
	  "done 1 = EINPROGRESS; until 1 0 = ETIMEDOUT; "
	  "until 1 1 = ETIMEDOUT; open x; ticket 1 = 0; open y;" },
	{ "cuda: a host call fails",
	  "deny s @1; ticket 1 = ENOSPC; destroy s = ENOSPC;" },
	{ "cuda: memory outlives the last stream, and so do graphs",
	  "fill s a 7; capture s; add s a a; end s g; destroy s; create s; "
	  "copy s i a; is i 7; replay s g = 0; drop g; copy s i a; is i 14;" },
	{ "cuda: copies from and to pinned memory do not block",
	  "set p 4; gate x s; borrow s a p; add s a a; borrow s p a @1; "
	  "done 1 = EINPROGRESS; soon x; sync s; waited x; is p 8;" },
	{ "cuda+cpu: streams copy into each other's memory",
	  "alloc t b; fill s a 1; " ROUND ROUND ROUND "fill s a 1; " ROUND ROUND
	  "copy s i a; is i 4; copy t i a = EXDEV; record s e; wait t e; "
	  "record t e; wait s e = 0;" },
	/* A submission waits only until the oldest operations are done. */
	{ "cuda: the ring of operations is full",
	  "depth 16 = 0; create s; gate x s; " GATES_FULL
	  "gate y s; " GATES_FULL
	  "soon x; fill s a 9; waited x; open y; drain s;" },
	{ "cuda: the program's memory is pinned, and read back meanwhile",
	  "fill s a 3; pin s h; pin s h = EINVAL; put s h 5 = EXDEV; "
	  "gate x s; borrow s h a @1; done 1 = EINPROGRESS; soon x; ticket 1; "
	  "waited x; is h 3; unpin s h; unpin s h = EINVAL; pin s h; "
	  "unpin s h;" },
	/*
	 * The gate opens only after these calls: a call that waited for the
	 * copy would hang.
	 */
	{ "cuda+cpu: a copy blocks its caller, and no other thread",
	  "fill s a 3; gate x s; copies; record t e; fill t i 1; record s e; "
	  "open x; copied; is h 3;" },
	/*
	 * The operation in the legacy stream comes behind earlier operations of
	 * the blocking stream, and before later ones.
	 */
	{ "cuda: the program uses its legacy stream, and lends another",
	  "lend 0; create s; native s; fill s a 1; gate x s; fill s a 3; "
	  "raw_legacy a 5; add s a a; open x; copy s h a; is h 10; destroy s; "
	  "take_back;" },
	{ "cuda: default streams are refused",
	  "default_stream 1 = EINVAL; why 'default; "
	  "default_stream 2 = EINVAL; why 'default;" },
	{ "cuda+cpu: the program uses a stream's CUstream",
	  "native s; put s a 1; raw a 4; add s a a; copy s h a; is h 8;" },
	{ "cuda: a borrowed stream",
	  "lend 1; create s; native s; fill s a 1; fill s b 1; gate x t; "
	  "add t b a; foreign s a 7; add t b a; open x; copy t h b; is h 9; "
	  "fill t a 1; fill t b 1; gate x s; add s b a; foreign t a 7; "
	  "add s b a; open x; copy s h b; is h 9; fill s a 0; capture s; "
	  "foreign s a 3; add s a a; end s g; issued = 3; replay s g; "
	  "fill s a 9; replay s g; copy s h a; is h 6; issued = 3; drop g; "
	  "put s p 5; sync s; is p 5; free s p; put s h 5 = EXDEV; "
	  "destroy s; take_back;" },
	{ "cuda: foreign work that fails, and its error is the call's",
	  "foreign_fails s a = ENOSPC; free s a; destroy s = ENOSPC;" },
	{ "cuda: order is kept in the library's and the program's memory",
	  "fill s b 0; fill s a 0; drain s; mark s; " TOKEN TOKEN "is i 6; "
	  "since s = 8800; free s a; free s b; arena; declare_arena s; "
	  "fill s b 0; drain s; mark s; " TOKEN TOKEN "is i 6; since s = 8800; "
	  "unpin s a; arena_goes;" },
	{ "cuda: two streams use the same memory, and the host does not wait",
	  "mark t; gate x s; fill s a 1; fill t b 2; add t b a; add t b a; "
	  "add s a b; host t = 0; open x; copy t i a; is i 5;" },
	{ "cuda: a replayed graph reads what its source has then",
	  "fill s b 0; capture s; borrow s a p; add s b a; end s g; set p 1; "
	  "replay s g; sync s; set p 2; replay s g; sync s; copy s i b; "
	  "is i 3; drop g;" },
	{ "cuda: the host asks for an event, and waits for it",
	  "gate x s; fill s a 1; record s e; gate y s; passed e = EINPROGRESS; "
	  "soon x; event e; waited x; passed e = 0; open y;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
