// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which synchronizations go and which stay, by the counters, with everything
 * surely still under way.
 *
 * APIs: drover stream/debug_elision
 */
#include "script.h"

static const struct scenario scenarios[] = {
	{ "device memory alone",
	  "mark s; gate x s; staged s a h; sync s; staged s b h; sync s; "
	  "staged s c h; sync s; since s = 3300; fill s d 5; sync s; "
	  "since s = 4400; open x; drain s;" },
	/* The gate writes the source, so the copy comes late anywhere. */
	{ "a copy to the host",
	  "gate x s a; later x; borrow s i a; sync s; waited x; is i 106;" },
	{ "a kernel on host memory",
	  "mark s; gate x s; fill s j 1; fill s a 1; later x; sync s; waited x; "
	  "since s = 1001;" },
	{ "an event of another stream",
	  "fill s b 3; mark t; gate x s a; record s e; later x; wait t e; "
	  "cpu: since t = 1010; eager: since t = 1001; wait t e; "
	  "cpu: since t = 2110; eager: since t = 2101; add t a b; device t = 0; "
	  "copy t i a; waited x; is i 109;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
