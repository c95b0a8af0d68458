// SPDX-License-Identifier: GPL-2.0-only
/* Signals are passed on where there are one CPU and many threads. */
#include "policy_looks.h"

/* So many do better without, and with one more it pays. */
#define FEW 9

static void test(const char *policy)
{
	struct crowd crowd;

	(void)policy;
	tap_ok(!policy_relays(), "nobody waits: no relay");
	crowd_of(&crowd, FEW);
	tap_ok(!policy_relays(), "%d threads: none", FEW);
	crowd_end(&crowd);
	crowd_of(&crowd, FEW + 1);
	tap_is(policy_relays(), cpus_usable() == 1,
	       "%d threads: if there is one CPU", FEW + 1);
	crowd_end(&crowd);
}

static const char *const names[] = { "auto" };

int main(int argc, char **argv)
{
	struct policy_list list = { names, 1 };

	(void)argc;
	return policies_main(argv, list, 3, test);
}
