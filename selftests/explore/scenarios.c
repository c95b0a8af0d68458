// SPDX-License-Identifier: GPL-2.0-only
/* All scenarios. */
#include "scenarios.h"

const struct scenario *scenario_number(int nr)
{
	static const struct {
		const struct scenario *first;
		const int *nr;
	} lists[] = {
		{ cond_scenarios, &nr_cond_scenarios },
		{ kind_scenarios, &nr_kind_scenarios },
		{ await_scenarios, &nr_await_scenarios },
		{ fork_scenarios, &nr_fork_scenarios },
		{ barrier_scenarios, &nr_barrier_scenarios },
		{ pool_scenarios, &nr_pool_scenarios },
	};

	for (unsigned int i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (nr < *lists[i].nr)
			return lists[i].first + nr;
		nr -= *lists[i].nr;
	}
	return NULL;
}
