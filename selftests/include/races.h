/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * races.h - what the debug build of the library reports
 *
 *	races_watch();
 *	...
 *	tap_is(races_found(), 1, "one race");
 *	tap_ok(races_name(__FILE__, line), "which names the line");
 *
 * For programs called debug_*, which are linked to the debug build.
 */
#ifndef DROVER_SELFTESTS_RACES_H
#define DROVER_SELFTESTS_RACES_H

#include <stream/plants.h>

#include "streams.h"

static struct {
	drover_mutex_t lock;
	int nr;
	char last[1000];
} races;

static inline void races_take(const char *text, void *arg)
{
	(void)arg;
	drover_mutex_lock(&races.lock);
	races.nr++;
	snprintf(races.last, sizeof(races.last), "%s", text);
	drover_mutex_unlock(&races.lock);
}

static inline void races_watch(void)
{
	MUST(drover_stream_watch_races(races_take, NULL));
}

/* races_found - how many since the last time */
static inline int races_found(void)
{
	int nr;

	drover_mutex_lock(&races.lock);
	nr = races.nr;
	races.nr = 0;
	if (nr)
		tap_diag("%s", races.last);
	drover_mutex_unlock(&races.lock);
	return nr;
}

/* races_name - whether the last report names this place */
static inline bool races_name(const char *file, int line)
{
	char place[300];

	snprintf(place, sizeof(place), "%s:%d", file, line);
	return strstr(races.last, place);
}

#endif /* DROVER_SELFTESTS_RACES_H */
