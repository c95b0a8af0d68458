// SPDX-License-Identifier: GPL-2.0-only
/*
 * drover_prepare_thread() gets what the first wait of a thread would map
 * otherwise: no wait grows the process afterwards. And drover_version().
 */
#include <sys/wait.h>

#include "api.h"
#include "blocked.h"

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

static int wait_once(void)
{
	const struct timespec past = { 0, 0 };
	int err;

	drover_mutex_lock(&mutex);
	err = drover_cond_timedwait(&cond, &mutex, &past);
	drover_mutex_unlock(&mutex);
	return err == ETIMEDOUT ? 0 : 1;
}

static int nothing(void)
{
	return 0;
}

/* By how much a wait grows a process that has called @before. */
static int growth_after(int (*before)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		long pages;

		nr_pages();
		if (before())
			_exit(255);
		pages = nr_pages();
		if (wait_once())
			_exit(254);
		_exit((int)(nr_pages() - pages));
	}
	if (child < 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status))
		tap_bail("no child");
	return WEXITSTATUS(status);
}

int main(void)
{
	tap_plan(3);
	watchdog("preparing a thread");
	if (MAPS_OTHERWISE) {
		tap_skip("the first wait maps memory", "so does the sanitizer");
		tap_skip("prepared, it maps none", "so does the sanitizer");
	} else {
		int grown = growth_after(nothing);

		tap_ok(grown > 0 && grown <= 2,
		       "the first wait maps a page or two: %d", grown);
		tap_is(growth_after(drover_prepare_thread), 0,
		       "prepared, it maps none");
	}
	tap_ok(drover_version() && strchr(drover_version(), '.'), "a version");
	return tap_exit();
}
