// SPDX-License-Identifier: MIT
/*
 * The watchdog sleeps in poll() on an eventfd and not on a condition variable,
 * because it must not depend on the implementation that is measured.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static struct {
	struct bench_watch watch;
	uint64_t seconds;
	pthread_t thread;
	int stop;
	bool running;
} dog;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Wait for @ms. Returns true early if the watchdog is told to stop. */
static bool told_to_stop(int64_t ms)
{
	struct pollfd fd = { .fd = dog.stop, .events = POLLIN };
	int64_t end = now_ms() + ms;
	int ready;

	do {
		int64_t left = end - now_ms();

		ready = poll(&fd, 1, left > 0 ? left : 0);
	} while (ready < 0 && errno == EINTR);
	return ready > 0;
}

static void *watch_main(void *unused)
{
	uint64_t before = dog.watch.progress(dog.watch.arg);

	(void)unused;
	while (!told_to_stop(dog.seconds * 1000)) {
		uint64_t after = dog.watch.progress(dog.watch.arg);

		if (after == before) {
			dog.watch.explain(dog.watch.arg);
			bench_wrong("no progress for %llu s: a wakeup was lost",
				    (unsigned long long)dog.seconds);
		}
		before = after;
	}
	return NULL;
}

bool bench_watchdog_start(const struct bench_watch *watch, uint64_t seconds)
{
	int error;

	if (!seconds)
		return true;
	dog.watch = *watch;
	dog.seconds = seconds;
	dog.stop = eventfd(0, EFD_CLOEXEC);
	if (dog.stop < 0) {
		bench_error("watchdog: eventfd: %s", strerror(errno));
		return false;
	}
	error = pthread_create(&dog.thread, NULL, watch_main, NULL);
	if (error) {
		bench_error(
			"watchdog: no thread (%s); --watchdog=0 runs without it",
			strerror(error));
		close(dog.stop);
		return false;
	}
	dog.running = true;
	return true;
}

void bench_watchdog_stop(void)
{
	if (!dog.running)
		return;
	eventfd_write(dog.stop, 1);
	pthread_join(dog.thread, NULL);
	close(dog.stop);
	dog.running = false;
}
