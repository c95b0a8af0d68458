// SPDX-License-Identifier: MIT
/*
 * signal-nobody - the cost of calls that have nothing to do: a signal or a
 * broadcast without waiters, or a lock of a mutex that no other thread wants.
 *
 * The main thread makes the calls. While there is only one thread, the C
 * library saves an atomic instruction. So other threads sleep beside the main
 * thread only if an option asks for them. The watchdog has nothing to watch
 * here, and would be a second thread, so it is not started.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "impl.h"

struct args {
	uint64_t calls, threads;
	bool broadcast, lock;
};

struct nobody {
	const struct args *args;
	struct impl_mutex lock;
	struct impl_cond cond;
	int leave; /* eventfd that the idle threads sleep on */
};

static void *idle_main(void *arg)
{
	struct nobody *nobody = arg;
	struct pollfd fd = { .fd = nobody->leave, .events = POLLIN };

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	return NULL;
}

static void measure(struct bench_run *run, struct nobody *nobody)
{
	uint64_t calls = nobody->args->calls;

	bench_begin(run);
	if (nobody->args->lock) {
		for (uint64_t i = 0; i < calls; i++) {
			impl_mutex_lock(&nobody->lock);
			impl_mutex_unlock(&nobody->lock);
		}
	} else if (nobody->args->broadcast) {
		for (uint64_t i = 0; i < calls; i++)
			impl_cond_broadcast(&nobody->cond);
	} else {
		for (uint64_t i = 0; i < calls; i++)
			impl_cond_signal(&nobody->cond);
	}
	bench_end(run);
	run->operations = calls;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct nobody nobody = { .args = args };
	struct bench_threads threads = { 0 };
	bool started = true;

	nobody.leave = eventfd(0, EFD_CLOEXEC);
	if (nobody.leave < 0) {
		bench_error("eventfd: %s", strerror(errno));
		return BENCH_FAILED;
	}
	impl_mutex_init(&nobody.lock);
	impl_cond_init(&nobody.cond);
	if (nobody.args->threads)
		started = bench_threads_start(&threads, nobody.args->threads,
					      run->common->stack, idle_main,
					      &nobody, 0);
	if (started)
		measure(run, &nobody);
	eventfd_write(nobody.leave, 1);
	bench_threads_join(&threads);
	impl_cond_destroy(&nobody.cond);
	impl_mutex_destroy(&nobody.lock);
	close(nobody.leave);
	return started ? BENCH_OK : BENCH_FAILED;
}

static const char *what(const struct args *args)
{
	return args->lock ? "lock" : args->broadcast ? "broadcast" : "signal";
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;

	(void)run;
	fprintf(out, "%" PRIu64 " calls (%s), %" PRIu64 " other threads",
		a->calls, what(a), a->threads);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;

	(void)run;
	bench_json_string(json, "call", what(a));
	bench_json_count(json, "calls", a->calls);
	bench_json_count(json, "threads", a->threads + 1);
}

static const struct bench_option options[] = {
	BENCH_COUNT_OPTION('i', "calls", calls, 1, 1000000000000, "CALLS",
			   "calls", .required = true),
	BENCH_COUNT_OPTION('t', "threads", threads, 0, 100000, "THREADS",
			   "threads that sleep beside it (default 0)"),
	BENCH_FLAG_OPTION('b', "broadcast", broadcast,
			  "broadcast instead of signal"),
	BENCH_FLAG_OPTION('l', "lock", lock, "lock and unlock instead"),
	{ 0 }
};

BENCH_SUITE(.name = "signal-nobody",
	    .summary = "Make calls that have nothing to do.",
	    .operation = "call", .switches_key = "switches_per_call",
	    .json = json);
