// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conflicting operations take effect as they were submitted, on any backend,
 * and between backends; and the same few buffers, step after step.
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

static const struct scenario scenarios[] = {
	/*
	 * On some backend a copy starts the moment it is submitted, even if work
	 * that needs the old content is still under way. There the host waits,
	 * since nothing else can; where a queue keeps the order, it does not.
	 */
	{ "a kernel reads the input while the next one comes",
	  "set h 1; copy s a h; fill s b 0; gate x s; add s b a; mark s; "
	  "set h 2; eager: later x; staged s a h; eager: waited x; "
	  "eager: host s = 1; cpu: host s = 0; cpu: open x; "
	  "copy s i b; is i 1; copy s i a; is i 2;" },
	{ "a kernel sees what was copied before it",
	  "set h 1; " DOUBLE "is i 2; set h 2; " DOUBLE "is i 4; "
	  "set h 3; " DOUBLE "is i 6; set h 4; " DOUBLE "is i 8;" },
	/* In a queue it comes much later than the source goes. */
	{ "a staged source may go when the call returns",
	  "set h 49; gate x s; staged s a h; set h 0; open x; copy s i a; "
	  "is i 49; set h 50; copy s a h; set h 0; copy s i a; is i 50;" },
	{ "staged from what an operation still writes, after it",
	  "mark s; gate x s h; later x; staged s a h; waited x; host s = 1; "
	  "copy s i a; is i 106;" },
	{ "no event to be waited for",
	  "mark s; wait s f = 0; fill t h 1; record t e; destroy t; "
	  "wait s e = 0; create t; wait s e = 0; wait s o = 0; "
	  "record s e; wait s e = 0; since s = 5500;" },
	/* The same buffers, step after step, by two streams. */
	{ "every step reads its own input", "fill u b 0; " REUSE("") },
	{ "and when it synchronizes", "fill u b 0; " REUSE("sync s; ") },
	/* The caller orders, so nothing else does. */
	{ PAIRS ": an event",
	  "gate x S h; record S e; eager: later x; wait T e; fill T h 33; "
	  "eager: waited x; cpu: open x; sync T; drain S; is h 33;" },
	{ PAIRS ": copies into each other's memory",
	  "alloc t b; fill s a 0; fill s c 1; " TURNS TURNS
	  "copy t i a; is i 20;" },
	/* The host is to wait at the end alone, if the devices can. */
	{ "cpu: the same, by devices",
	  "alloc t b; fill s a 0; fill s c 1; mark t; " TURNS "host t = 0;" },
	/*
	 * A backend whose copies have threads of their own and no queue in
	 * common. A wait for the stream is one for all; copies end in any order,
	 * their numbers in one.
	 */
	{ "eager: synchronize waits for all copies", LATE "sync s; " ALL_HERE },
	{ "eager: drain does", LATE "drain s; " ALL_HERE },
	{ "eager: each ticket is done when its copy is",
	  LATE "ticket 4; is k 67; ticket 3; is j 66; ticket 2; is i 65; "
	       "ticket 1; " ALL_HERE },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
