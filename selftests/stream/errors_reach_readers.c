// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first error reaches its ticket, its stream, later operations, and who
 * reads what was not made. Who reads nothing of it has none, what is in front
 * of it is sound, and nothing hangs.
 *
 * APIs: drover stream/debug_errors_reach_readers
 */
#include "script.h"

/* What s should make in a, t reads; b is spare, and the result in c. */
#define BEGIN                                                            \
	"fill t a 1; fill t b 1; fill t c 1; drain t; gate x s; fail s " \
	"a; "
#define END "ticket 1 = ENOSPC; is c 1; destroy t = ENOSPC;"

/* What comes behind an error of ticket 2. */
#define AFTER(error)                                                \
	"ticket 2 = " error "; done 2 = " error                     \
	"; done 1 = 0; sync s = " error "; fill s i 3 = " error     \
	"; copy s i b = " error "; call s = " error                 \
	"; record s e; add t b a = " error                          \
	"; copy t i b = 0; wait t e = " error "; drain t = " error  \
	"; free s a = 0; destroy s = " error "; destroy t = " error \
	"; create s; free s b; destroy s = 0;"

/* There a host call fails, and the device goes on. */
#define DENIED                                                             \
	"gate x s; gate y t; deny s a; fill t b 0 @2; add t b a @1; open " \
	"x; "

static const struct scenario scenarios[] = {
	/* The newest conflict is with one that reads the same, and feeds nobody. */
	{ "behind another reader",
	  BEGIN "add s b a; add t a c; add t c a @1; open x; " END },
	/* It is ordered by the wait of one that only overwrites, and has it, too. */
	{ "ordered already",
	  BEGIN "add s a b; fill t b 2 @2; add t c a @1; open x; "
		"ticket 2 = ENOSPC; " END },
	/* The stream that failed is gone, its slot another's. */
	{ "destroyed meanwhile",
	  BEGIN "gate y t; add t c a @1; open x; destroy s = ENOSPC; "
		"create s; open y; " END " destroy s = 0;" },
	{ "under way",
	  "gate x s; fill s a 1 @1; fill s a 9 @2; fail s a @3; fill s a 4 @4; "
	  "open x; ticket 4 = ENOSPC; ticket 3 = ENOSPC; ticket 2 = 0; "
	  "ticket 1 = 0; is a 9; destroy s = ENOSPC;" },
	{ "a kernel fails",
	  "fill s a 1; fill s b 1; fill s i 2 @1; borrow s b i; "
	  "fail s a @2; " AFTER("ENOSPC") },
	{ "cpu: an event is behind what fails later",
	  "gate x S; fail S h @1; record S e; wait T e; open x; "
	  "ticket 1 = ENOSPC; drain T = ENOSPC; fill T h 1 = ENOSPC; "
	  "destroy T = ENOSPC; destroy S = ENOSPC;" },
	{ "eager: a copy fails",
	  "fill s a 1; fill s b 1; drain s; break 2; fill s i 2 @1; sync s; "
	  "borrow s b i; borrow s a b @2; " AFTER("EIO") },
	{ "cuda: a host call fails",
	  DENIED "drain s = ENOSPC; open y; ticket 1 = ENOSPC; done 2;" },
	{ "cuda: destroyed meanwhile",
	  DENIED "destroy s = ENOSPC; open y; ticket 1 = ENOSPC; done 2;" },
	{ NULL, NULL },
};

int main(void)
{
	mock_cuda_start();
	return scripts_main(scenarios, NULL, 0);
}
