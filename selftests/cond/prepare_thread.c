// SPDX-License-Identifier: GPL-2.0-only
/*
 * drover_prepare_thread() gets what the first wait of a thread would map
 * otherwise: no wait grows the process afterwards. And drover_version().
 */
#include "api.h"
#include "blocked.h"
#include "run.h"

/* Sanitizers map memory of their own. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MAPS_OTHERWISE 1
#else
#define MAPS_OTHERWISE 0
#endif

static drover_cond_t cond;
static drover_mutex_t mutex;

/* Pages that are mapped. Read without anything that maps some. */
static long nr_pages(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		tap_bail("/proc/self/statm: %s", strerror(errno));
	close(fd);
	return atol(text);
}

static bool prepares;

/* In a child: by how much does a wait grow it? */
static bool grow(void)
{
	long pages;

	nr_pages();
	if (prepares && drover_prepare_thread())
		_exit(255);
	pages = nr_pages();
	if (api_time_out(&cond, &mutex) != ETIMEDOUT)
		_exit(254);
	_exit((int)(nr_pages() - pages));
}

int main(void)
{
	tap_plan(3);
	watchdog("preparing a thread");
	if (MAPS_OTHERWISE) {
		tap_skip("the first wait maps memory", "so does the sanitizer");
		tap_skip("prepared, it maps none", "so does the sanitizer");
	} else {
		int grown = child_status(grow, "a first wait");

		tap_ok(grown > 0 && grown <= 2,
		       "the first wait maps a page or two: %d", grown);
		prepares = true;
		tap_is(child_status(grow, "prepared"), 0,
		       "prepared, it maps none");
	}
	tap_ok(drover_version() && strchr(drover_version(), '.'), "a version");
	return tap_exit();
}
