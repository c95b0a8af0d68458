// SPDX-License-Identifier: GPL-2.0-only
/*
 * A captured graph does at each replay what its operations would have done,
 * once more, as one operation that is ordered like any other.
 */
#include "script.h"

#define REPLAY "replay s g @2; ticket 2; copy s k a; "

static const struct scenario scenarios[] = {
	{ "replays",
	  "fill s a 0; drain s; set h 2; mark s; capture s; capture s = EBUSY; "
	  "staged s c h @1; borrow s b i; add s a b; add s a c; call s j; "
	  "sync s = EBUSY; copy s a h = EBUSY; destroy s = EBUSY; end s g; "
	  "done 1 = 0; submits s = 0; called = 0; set h 99; "
	  "set i 1; " REPLAY "is k 3; set i 2; " REPLAY "is k 7; called = 2; "
	  /* The graph goes before it was carried out. */
	  "replay s g; drop g; sync s; called = 3;" },
	{ "ordered like its operations",
	  "fill s a 1; fill s b 1; capture s; add s b a; end s g; gate x s a; "
	  "replay s g; later x; sync s; copy t i b; waited x; is i 107; "
	  "end s f = EINVAL; drop g;" },
	{ "events are recorded anew, and waited for anew",
	  "capture T; wait T e; add T a a; record T f; end T g; gate x s a; "
	  "record s e; later x; replay T g; wait U f; add U a a; drain U; "
	  "waited x; is a 424; drop g; drain T;" },
	{ "an operation inside fails",
	  "capture s; fill s h 1; fail s h; fill s h 2; end s g; "
	  "replay s g @1; ticket 1 = ENOSPC; is h 1; replay s g = ENOSPC; "
	  "drop g; destroy s = ENOSPC;" },
	{ "cpu+eager eager+cpu: not on another backend, but when the first stream is gone",
	  "capture s; fill s h 77; end s g; destroy s; replay t g = EINVAL; "
	  "replay u g; sync u; is h 77; drop g; drop f;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
