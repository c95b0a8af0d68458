/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kind_crew.h - the end of a crew whose condvar and mutex are of some kind
 */
#ifndef DROVER_SELFTESTS_KIND_CREW_H
#define DROVER_SELFTESTS_KIND_CREW_H

#include "crew.h"
#include "kinds.h"

/* kind_crew_end - wake who still waits, join all, destroy what they used */
static inline void kind_crew_end(struct crew *crew)
{
	while (crew_count(crew, RETURNED) < crew->nr)
		kind_broadcast(crew->cond, crew->mutex);
	crew_end(crew);
	kind_cond_destroy(crew->cond, crew->mutex);
	api_mutex_destroy(crew->mutex);
}

#endif /* DROVER_SELFTESTS_KIND_CREW_H */
