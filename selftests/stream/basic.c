// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every operation does what it says, on every CPU-side backend; a wait that is
 * over makes no system call; arguments that make no sense are refused.
 *
 * APIs: drover stream/debug_basic
 */
#include "script.h"

#define MOST	   1000
#define NR_RESULTS 18

static const struct scenario scenarios[] = {
	{ "a copy there and back", "set h 1; copy s a h; copy s i a; is i 1;" },
	{ "staged there, borrowed back",
	  "set h 2; staged s a h; borrow s i a @1; ticket 1; is i 2;" },
	{ "bytes that are set",
	  "put s a 5; copy s i a; is i 5; put s j 7; sync s; is j 7;" },
	{ "a ticket of zeroes is done", "drain s; done 9 = 0;" },
	{ "a ticket behind a gate",
	  "gate x s; fill s i 3 @1; done 1 = EINPROGRESS; over 1 = ETIMEDOUT; "
	  "soon 1 = ETIMEDOUT; later x; ticket 1 = 0; waited x; done 1 = 0; "
	  "is i 3;" },
	{ NULL, NULL },
};

static unsigned char host[MOST], back[MOST];

struct many {
	unsigned char *to[40];
	int bytes;
};

static int many_run(const void *args)
{
	const struct many *many = args;

	for (int i = 0; i < 40; i++)
		memset(many->to[i], i, many->bytes);
	return 0;
}

/* More arguments and accesses than an operation has room for. */
static void test_many(const char *name, drover_stream_t *s)
{
	const drover_kernel_t kernel = { .run = many_run };
	unsigned char *memory = device_memory(s, MOST);
	drover_access_t accesses[40];
	struct many many = { .bytes = 10 };
	bool right = true;

	for (int i = 0; i < 40; i++) {
		many.to[i] = memory + 20 * i;
		accesses[i] = (drover_access_t){ many.to[i], 10, DROVER_WRITE };
	}
	MUST(drover_stream_run(s, &kernel, &many, sizeof(many), accesses, 40,
			       NULL));
	memset(&many, 0, sizeof(many));
	memset(accesses, 0, sizeof(accesses));
	MUST(drover_stream_copy(s, back, memory, 800));
	for (int i = 0; i < 40; i++)
		right &= all_are(back + 20 * i, i, 10);
	tap_ok(right, "%s: a kernel with 40 arguments and accesses", name);
	MUST(drover_stream_free(s, memory));
}

static int count_call(void *arg)
{
	++*(int *)arg;
	return 0;
}

static void test_calls(const char *name, drover_stream_t *s)
{
	int called = 0;
	drover_access_t access = { &called, sizeof(called),
				   DROVER_READ | DROVER_WRITE };
	drover_stream_counts_t before, after;
	drover_ticket_t ticket;

	for (int i = 0; i < 600; i++)
		MUST(drover_stream_host_call(s, count_call, &called, &access, 1,
					     &ticket));
	MUST(drover_stream_synchronize(s));
	tap_is(called, 600, "%s: 600 host calls, through 256 places", name);
	before = counts_of(s);
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	MUST(drover_ticket_done(&ticket));
	MUST(drover_stream_synchronize(s));
	after = counts_of(s);
	tap_is((long)(after.system_calls - before.system_calls), 0,
	       "%s: waits that are over: no system call", name);
	tap_is((long)(after.elided - before.elided), 1,
	       "%s: and a synchronization elided", name);
}

static drover_stream_t *own_stream;
static int own_error[2];

static int wait_for_itself(void *arg)
{
	own_error[0] = drover_stream_synchronize(own_stream);
	own_error[1] = drover_stream_destroy(own_stream);
	return 0;
}

static void test_misuse(const char *name, drover_stream_t *s, uint32_t backend)
{
	drover_streamattr_t wrong = { .backend = backend, .reserved = 1 };
	struct timespec never = { .tv_nsec = NS_PER_S };
	void *memory = device_memory(s, MOST);
	drover_kernel_t nothing = { 0 };
	drover_stream_t other;
	drover_ticket_t ticket;

	own_stream = s;
	MUST(drover_stream_host_call(s, wait_for_itself, NULL, NULL, 0, NULL));
	MUST(drover_stream_synchronize(s));
	tap_is(own_error[0], EDEADLK, "%s: a call that waits for itself", name);
	tap_is(own_error[1], EDEADLK, "%s: a call that destroys its stream",
	       name);
	IS(EINVAL, drover_stream_create(&other, &wrong));
	IS(EINVAL, drover_stream_run(s, &nothing, NULL, 0, NULL, 0, NULL));
	IS(EINVAL, drover_stream_load(s, "", "", &nothing));
	IS(EINVAL, drover_stream_host_call(s, NULL, NULL, NULL, 0, NULL));
	IS(0, drover_stream_copy(s, memory, host, 0));
	IS(EINVAL, drover_stream_copy(s, NULL, host, 1));
	IS(EINVAL, drover_stream_copy_staged(s, host + 5, host, 10, &ticket));
	MUST(drover_stream_free(s, memory));
	tap_is(drover_stream_free(s, memory), EINVAL, "%s: freed twice", name);
	MUST(drover_stream_copy_staged(s, host, back, 10, &ticket));
	IS(EINVAL, drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &never));
}

/* A ring of staging memory that wraps, and copies that are too large for it. */
static void test_staging(const char *name, uint32_t backend)
{
	drover_streamattr_t attr = { .backend = backend, .staging = 256 };
	unsigned char *memory;
	drover_stream_t s;
	bool right = true;

	MUST(drover_stream_create(&s, &attr));
	memory = device_memory(&s, MOST);
	for (int i = 0; i < 120; i++) {
		size_t bytes = 1 + i * 7 % 128, at = i * 131 % (MOST - 128);

		memset(host, i, bytes);
		MUST(drover_stream_copy_staged(&s, memory + at, host, bytes,
					       NULL));
		if (i % 10)
			continue;
		MUST(drover_stream_copy(&s, back, memory + at, bytes));
		right &= all_are(back, i, bytes);
	}
	tap_ok(right, "%s: 120 staged copies through 256 bytes", name);
	memset(host, 9, MOST);
	MUST(drover_stream_copy_staged(&s, memory, host, MOST, NULL));
	memset(host, 8, MOST);
	MUST(drover_stream_copy(&s, back, memory, MOST));
	tap_ok(all_are(back, 9, MOST), "%s: one that is larger than that",
	       name);
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);

	watchdog(name);
	test_many(name, &s);
	test_calls(name, &s);
	test_misuse(name, &s, backend);
	tap_is(drover_stream_destroy(&s), 0, "%s: destroyed", name);
	test_staging(name, backend);
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS +
		 scripts_run(scenarios, cpu_pairings, true));
	scripts_run(scenarios, cpu_pairings, false);
	for_each_cpu_backend(test);
	return tap_exit();
}
