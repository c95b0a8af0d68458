// SPDX-License-Identifier: GPL-2.0-only
/*
 * The results of drover_barrier_t's functions, used rightly and wrongly: with a
 * deadline, while another thread sleeps, and for barriers with an initialiser.
 * A thread that waits, or was just released, reads no file, because its stack
 * may be the smallest that is allowed.
 */
#include "steps.h"

/* All zero bytes are no barrier, and neither is one that was destroyed. */
#define NONE                                                                \
	"wait = EINVAL; arrive 1 0 = EINVAL; stored 0 = 0; drop = EINVAL; " \
	"count 1 = EINVAL; destroy = EINVAL"

/* Waits with a deadline for a phase, and a test of a phase. */
#define DEADLINES(clock)                                                   \
	"ready 3; arrive 1 0; until 0 0 " clock                            \
	" = ETIMEDOUT; until 0 2 " clock " = ETIMEDOUT; until 0 -1 " clock \
	" = EINVAL; "                                                      \
	"until 0 2 4711 = EINVAL; test 0 = EINPROGRESS; arrive 2 none; "   \
	"until 0 0 " clock " = 0; arrive 1 0; arrive 2 none; test 0 = 0; " \
	"destroy = 0"

/*
 * One of two threads sleeps, and the other one completes the phase, in
 * different ways. No thread is left behind, and none gets through early.
 */
#define SLEEPERS                                                              \
	"count 3; sleeper; sleeper; wait = SERIAL; back = 0; back = 0; "      \
	"count 2; sleeper; wait = SERIAL; back = 0; "                         \
	"sleeper; arrive 1 none = SERIAL; back = 0; "                         \
	"sleeper; arrive 1 none = SERIAL; back = 0; "                         \
	"sleeper; destroy = EBUSY; count 3 = EBUSY; arrive 2 0 = EOVERFLOW; " \
	"destroy = EBUSY; arrive 1 none = SERIAL; back = 0; "                 \
	"sleeper; drop = SERIAL; back = 0; wait = SERIAL; "                   \
	"count 2; sleeper; wait = SERIAL; back = 0; destroy = 0"

static const struct {
	const char *name, *text;
} scenarios[] = {
	{ "memory that is all zero", NONE },
	{ "bad attributes",
	  "init 1 1 1 3 = EINVAL; init 1 1 1 0x80000001 = EINVAL; "
	  "init 1 1 1 0x100000001 = EINVAL; init 1 1 2 2 = EINVAL" },
	{ "counts that are too small or too large",
	  "init 0 = EINVAL; init 0x10000001 = EINVAL; init most = 0; "
	  "destroy = 0" },
	{ "one thread",
	  "init 1; waits 1000 = 1000; arrive 1 0 = SERIAL; wait_for 0 = 0; "
	  "drop = SERIAL; wait = EINVAL; arrive 1 none = EINVAL; "
	  "destroy = 0; " NONE },
	{ "arrivals",
	  "init 3; arrive 0 0 = EINVAL; arrive 4 0 = EOVERFLOW; "
	  "arrive 2 0 = 0; arrive 2 1 = EOVERFLOW; stored 1 = 0; "
	  "destroy = EBUSY; count 2 = EBUSY; arrive 1 none = SERIAL; "
	  "wait_for 0 = 0; arrive 3 1 = SERIAL; forget 1 = 0; destroy = 0" },
	{ "counts that change, and threads that drop out",
	  "init 2; count 0 = EINVAL; count 1 = 0; wait = SERIAL; count 3 = 0; "
	  "arrive 2 none; drop = SERIAL; arrive 1 0; drop = SERIAL; "
	  "wait_for 0; wait = SERIAL; count 2 = 0; arrive 1 none = 0; "
	  "wait = SERIAL; arrive 1 none = 0; wait = SERIAL; destroy = 0" },
	{ "a completion runs once for each phase, when all have arrived",
	  "init 2 1 2; arrive 1 none; completed = 0; arrive 1 none; "
	  "completed = 1; count 1; wait; completed = 2; destroy = 0" },
	{ "deadlines", DEADLINES("1") },
	{ "deadlines of the wall clock", DEADLINES("0") },
	{ "sleepers", "init 2; " SLEEPERS },
	{ "sleepers that do not spin", "init 2 0; " SLEEPERS },
	{ "sleepers in other processes", "init 2 1 1 2; " SLEEPERS },
	{ "a shared barrier, and a thread that never waits for its phase",
	  "init 2 1 1 2; arrive 1 0; arrive 1 none = SERIAL; destroy = 0" },
	{ "errno is left alone",
	  "errno 4711; init 1; waits 2; count 5; arrive 9 0; destroy; "
	  "errno 0 = 4711" },
};

static void *wait_twice(void *b)
{
	drover_barrier_wait(b);
	drover_barrier_wait(b);
	return NULL;
}

/* The barrier lies wherever malloc() or a packed structure puts it. */
static void test_anywhere(void)
{
	static char memory[sizeof(drover_barrier_t) + 64]
		__attribute__((aligned(64)));
	bool kept = true;

	for (int off = 0; off < 64; off += 8) {
		drover_barrier_t *here = (drover_barrier_t *)(memory + off);
		pthread_t thread;

		memset(memory, 0x5a, sizeof(memory));
		drover_barrier_init(here, 2, NULL);
		thread = thread_of(wait_twice, here);
		wait_twice(here);
		joined(thread);
		drover_barrier_destroy(here);
		for (int i = 0; i < (int)sizeof(memory); i++)
			if (i < off || i >= off + (int)sizeof(*here))
				kept &= memory[i] == 0x5a;
	}
	tap_ok(kept,
	       "a barrier at any address writes into its own memory only");
}

/* ---- files ---- */

static _Thread_local bool waits;
static atomic_int nr_opened;

int open(const char *path, int flags, ...)
{
	nr_opened += waits;
	return syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

static void *wait_for_long(void *b)
{
	waits = true;
	tid = blocked_gettid();
	drover_barrier_wait(b);
	drover_barrier_set_count(b, 3);
	return NULL;
}

static void test_files(const char *what)
{
	pthread_attr_t attr;
	pthread_t thread;

	watchdog(what);
	nr_opened = tid = 0;
	/*
	 * This sleep synchronises nothing. The library keeps the cgroup's limit
	 * for a second: after that time it is too old, and still no wait may
	 * read the file.
	 */
	nanosleep(&(struct timespec){ 1, 200000000 }, NULL);
	pthread_attr_init(&attr);
#if FORK_THREADS_WORK
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
#endif
	MUST(pthread_create(&thread, &attr, wait_for_long, &barrier));
	reached(&tid, 1);
	asleep(tid);
	drover_barrier_wait(&barrier);
	joined(thread);
	tap_ok(!nr_opened && !drover_barrier_destroy(&barrier),
	       "%s: no files are opened", what);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	tap_plan(NR_OF(scenarios) + 1 + 2);
	for (int i = 0; i < NR_OF(scenarios); i++) {
		watchdog(scenarios[i].name);
		tap_ok(steps_do(scenarios[i].text), "%s", scenarios[i].name);
	}
	test_anywhere();
	do_ready((long[]){ 2 });
	test_files("a static initialiser");
	MUST(drover_barrier_init(&barrier, 2, NULL));
	test_files("a long wait");
	return tap_exit();
}
