// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conflicting operations take effect in the order of their submission, on each
 * backend, between backends, and if the same few buffers are used again and
 * again. The counters show which synchronizations are elided. A replay of a
 * graph does what its operations would do, and is ordered like one operation.
 * The first error is returned by its ticket, by its stream, by later
 * operations, and by operations that read what was not made, but by no others.
 *
 * APIs: drover stream/debug_order
 */
#include "script.h"

#define DOUBLE "staged s a h; sync s; add s a a; copy s i a; "
#define ROUND  "staged t b a; add t b c; borrow s a b; add s a c; "
#define TURNS  ROUND ROUND ROUND ROUND ROUND
#define PAIRS  "cpu cpu+eager eager+cpu eager"
#define LATE                                                            \
	"fill s a 64; fill s b 65; fill s c 66; fill s d 67; drain s; " \
	"late 50; borrow s h a @1; borrow s i b @2; borrow s j c @3; "  \
	"borrow s k d @4; "
#define ALL_HERE "late 0; is h 64; is i 65; is j 66; is k 67;"
#define REUSE(synchronizes)                                                \
	"set h 1; staged s a h; " synchronizes "add u b a; borrow s i b; " \
	"set h 2; staged s a h; " synchronizes "add u b a; borrow s j b; " \
	"set h 3; staged s a h; " synchronizes "add u b a; borrow s k b; " \
	"sync s; is i 1; is j 3; is k 6;"
#define REPLAY "replay s g @2; ticket 2; copy s k a; "

/*
 * Stream s fails to write a, which t reads. Memory b is for other operations,
 * and c shows whether t has run.
 */
#define BEGIN                                                            \
	"fill t a 1; fill t b 1; fill t c 1; drain t; gate x s; fail s " \
	"a; "
#define END "ticket 1 = ENOSPC; is c 1; destroy t = ENOSPC;"

/* The results of all calls after an error of ticket 2. */
#define AFTER(error)                                                \
	"ticket 2 = " error "; done 2 = " error                     \
	"; done 1 = 0; sync s = " error "; fill s i 3 = " error     \
	"; copy s i b = " error "; call s = " error                 \
	"; record s e; add t b a = " error                          \
	"; copy t i b = 0; wait t e = " error "; drain t = " error  \
	"; free s a = 0; destroy s = " error "; destroy t = " error \
	"; create s; free s b; destroy s = 0;"

/* In CUDA a host call fails, and the device goes on. */
#define DENIED                                                             \
	"gate x s; gate y t; deny s a; fill t b 0 @2; add t b a @1; open " \
	"x; "

static const struct scenario scenarios[] = {
	/*
	 * A backend may start a copy when it is submitted, even if an operation
	 * that needs the old content still runs. With such a backend the host
	 * waits, because nothing else can. If a queue keeps the order, the host
	 * does not wait.
	 */
	{ "a kernel reads its input while the next input comes",
	  "set h 1; copy s a h; fill s b 0; gate x s; add s b a; mark s; "
	  "set h 2; eager: later x; staged s a h; eager: waited x; "
	  "eager: host s = 1; cpu: host s = 0; cpu: open x; "
	  "copy s i b; is i 1; copy s i a; is i 2;" },
	{ "a kernel sees what was copied before it",
	  "set h 1; " DOUBLE "is i 2; set h 2; " DOUBLE "is i 4; "
	  "set h 3; " DOUBLE "is i 6; set h 4; " DOUBLE "is i 8;" },
	/* In a queue the copy is made long after the source has changed. */
	{ "a staged source may change when the call returns",
	  "set h 49; gate x s; staged s a h; set h 0; open x; copy s i a; "
	  "is i 49; set h 50; copy s a h; set h 0; copy s i a; is i 50;" },
	{ "a staged copy waits for an operation that writes its source",
	  "mark s; gate x s h; later x; staged s a h; waited x; host s = 1; "
	  "copy s i a; is i 106;" },
	{ "events for which no stream has to wait",
	  "mark s; wait s f = 0; fill t h 1; record t e; destroy t; "
	  "wait s e = 0; create t; wait s e = 0; wait s o = 0; "
	  "record s e; wait s e = 0; since s = 5500;" },
	/* The same buffers, step after step, by two streams. */
	{ "every step reads its own input", "fill u b 0; " REUSE("") },
	{ "every step reads its own input, with synchronizations",
	  "fill u b 0; " REUSE("sync s; ") },
	/* The caller orders these streams, so the library does not. */
	{ PAIRS ": an event orders two streams",
	  "gate x S h; record S e; eager: later x; wait T e; fill T h 33; "
	  "eager: waited x; cpu: open x; sync T; drain S; is h 33;" },
	{ PAIRS ": copies into each other's memory",
	  "alloc t b; fill s a 0; fill s c 1; " TURNS TURNS
	  "copy t i a; is i 20;" },
	/* If the devices can wait, the host waits only at the end. */
	{ "cpu: the same copies, and the host does not wait",
	  "alloc t b; fill s a 0; fill s c 1; mark t; " TURNS "host t = 0;" },
	/*
	 * The copies of this backend have threads of their own, and no common
	 * queue. A wait for the stream is a wait for all copies. They end in
	 * any order, but their numbers are counted in order.
	 */
	{ "eager: synchronize waits for all copies", LATE "sync s; " ALL_HERE },
	{ "eager: drain waits for all copies", LATE "drain s; " ALL_HERE },
	{ "eager: each ticket is done when its copy is",
	  LATE "ticket 4; is k 67; ticket 3; is j 66; ticket 2; is i 65; "
	       "ticket 1; " ALL_HERE },
	{ "synchronizations are elided for device memory",
	  "mark s; gate x s; staged s a h; sync s; staged s b h; sync s; "
	  "staged s c h; sync s; since s = 3300; fill s d 5; sync s; "
	  "since s = 4400; open x; drain s;" },
	{ "the program's memory is declared as device memory",
	  "declare s j; declare s j = EINVAL; mark s; gate x s; staged s j h; "
	  "sync s; add s a j; sync s; since s = 2200; open x; gate y s j; "
	  "later y; undeclare s j; waited y; is j 106; undeclare s j = EINVAL; "
	  "declare s 1 = EINVAL;" },
	{ "the host asks for an event, and waits for it",
	  "gate x s; fill s a 1; record s e; gate y s; passed e = EINPROGRESS; "
	  "open x; event e; passed e = 0; passed f = 0; passed o = EBADF; "
	  "open y; destroy s; passed e = EBADF;" },
	/* The gate writes the source, so the copy is late on all backends. */
	{ "a copy to the host is waited for",
	  "gate x s a; later x; borrow s i a; sync s; waited x; is i 106;" },
	{ "a kernel on host memory is waited for",
	  "mark s; gate x s; fill s j 1; fill s a 1; later x; sync s; waited x; "
	  "since s = 1001;" },
	{ "a stream waits for another stream's event",
	  "fill s b 3; mark t; gate x s a; record s e; later x; wait t e; "
	  "cpu: since t = 1010; eager: since t = 1001; wait t e; "
	  "cpu: since t = 2110; eager: since t = 2101; add t a b; device t = 0; "
	  "copy t i a; waited x; is i 109;" },
	{ "replays of a graph, and calls that a capture refuses",
	  "fill s a 0; drain s; set h 2; mark s; capture s; capture s = EBUSY; "
	  "staged s c h @1; borrow s b i; add s a b; add s a c; call s j = EBUSY; "
	  "sync s = EBUSY; copy s a h = EBUSY; record s e = EBUSY; "
	  "wait s e = EBUSY; destroy s = EBUSY; end s g; done 1 = 0; set h 99; "
	  "set i 1; " REPLAY "is k 3; set i 2; " REPLAY "is k 7; "
	  /* The graph is destroyed before it was carried out. */
	  "replay s g; drop g; copy s k a; is k 11;" },
	{ "a replay is ordered like its operations",
	  "fill s a 1; fill s b 1; capture s; add s b a; end s g; gate x s a; "
	  "replay s g; later x; sync s; copy t i b; waited x; is i 107; "
	  "end s f = EINVAL; drop g;" },
	{ "an operation of a graph fails",
	  "capture s; fill s h 1; fail s h; fill s h 2; end s g; "
	  "replay s g @1; ticket 1 = ENOSPC; is h 1; replay s g = ENOSPC; "
	  "drop g; destroy s = ENOSPC;" },
	{ "cpu+eager eager+cpu: a graph is for one backend, not for one stream",
	  "capture s; fill s h 77; end s g; destroy s; replay t g = EINVAL; "
	  "replay u g; sync u; is h 77; drop g; drop f;" },
	/* The newest conflicting operation reads the same memory, too. */
	{ "an error reaches an operation behind another reader",
	  BEGIN "add s b a; add t a c; add t c a @1; open x; " END },
	/*
	 * The wait of an operation that only overwrites has ordered the stream,
	 * and the operation fails, too.
	 */
	{ "an error reaches an operation that was ordered already",
	  BEGIN "add s a b; fill t b 2 @2; add t c a @1; open x; "
		"ticket 2 = ENOSPC; " END },
	/* The stream that failed is gone, and another stream has its slot. */
	{ "an error of a stream that was destroyed meanwhile",
	  BEGIN "gate y t; add t c a @1; open x; destroy s = ENOSPC; "
		"create s; open y; " END " destroy s = 0;" },
	{ "an error of an operation among others that still run",
	  "gate x s; fill s a 1 @1; fill s a 9 @2; fail s a @3; fill s a 4 @4; "
	  "open x; ticket 4 = ENOSPC; ticket 3 = ENOSPC; ticket 2 = 0; "
	  "ticket 1 = 0; is a 9; destroy s = ENOSPC;" },
	{ "the results of all calls after a kernel has failed",
	  "fill s a 1; fill s b 1; fill s i 2 @1; borrow s b i; "
	  "fail s a @2; " AFTER("ENOSPC") },
	{ "cpu: an event is behind an operation that fails later",
	  "gate x S; fail S h @1; record S e; wait T e; open x; "
	  "ticket 1 = ENOSPC; drain T = ENOSPC; fill T h 1 = ENOSPC; "
	  "destroy T = ENOSPC; destroy S = ENOSPC;" },
	{ "eager: the results of all calls after a copy has failed",
	  "fill s a 1; fill s b 1; drain s; break 2; fill s i 2 @1; sync s; "
	  "borrow s b i; borrow s a b @2; " AFTER("EIO") },
	{ "cuda: the error of a host call that fails",
	  DENIED "drain s = ENOSPC; open y; ticket 1 = ENOSPC; done 2;" },
	{ "cuda: the error of a stream that was destroyed meanwhile",
	  DENIED "destroy s = ENOSPC; open y; ticket 1 = ENOSPC; done 2;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
