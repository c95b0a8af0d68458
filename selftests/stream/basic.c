// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every operation does what it says, on every CPU-side backend; a wait that is
 * over makes no system call; arguments that make no sense are refused.
 *
 * APIs: drover stream/debug_basic
 */
#include <inttypes.h>
#include <stdlib.h>

#include "blocked.h"
#include "blocks.h"

#define BYTES	   1000
#define NR_RESULTS 26

static unsigned char host[BYTES], back[BYTES];

static void test_copies(const char *name, drover_stream_t *s)
{
	void *memory = device_memory(s, BYTES);
	drover_ticket_t ticket;

	memset(host, 1, BYTES);
	MUST(drover_stream_copy(s, memory, host, BYTES));
	memset(back, 0, BYTES);
	MUST(drover_stream_copy(s, back, memory, BYTES));
	tap_ok(all_are(back, 1, BYTES), "%s: a copy there and back", name);

	memset(host, 2, BYTES);
	MUST(drover_stream_copy_staged(s, memory, host, BYTES, NULL));
	MUST(drover_stream_copy_borrowed(s, back, memory, BYTES, &ticket));
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	tap_ok(all_are(back, 2, BYTES), "%s: staged there, borrowed back",
	       name);
	tap_is(drover_stream_copy(s, memory, host, 0), 0,
	       "%s: a copy of nothing", name);
	tap_is(drover_stream_copy(s, NULL, host, 1), EINVAL,
	       "%s: a copy to NULL: EINVAL", name);
	tap_is(drover_stream_copy_staged(s, host + 5, host, 10, NULL), EINVAL,
	       "%s: a copy onto itself: EINVAL", name);
	MUST(drover_stream_free(s, memory));
	tap_is(drover_stream_free(s, memory), EINVAL, "%s: freed twice: EINVAL",
	       name);
}

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
	unsigned char *memory = device_memory(s, BYTES);
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
	tap_is(drover_stream_host_call(s, NULL, NULL, NULL, 0, NULL), EINVAL,
	       "%s: a call of nothing: EINVAL", name);
}

static void test_tickets(const char *name, drover_stream_t *s)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);
	struct timespec wrong = { .tv_nsec = NS_PER_S };
	struct gate gate = GATE_INIT;
	drover_ticket_t none = { 0 }, ticket;

	tap_is(drover_ticket_done(&none), 0, "%s: a ticket of zeroes is done",
	       name);
	gate_block(&gate, s);
	MUST(fill_submit(s, back, 3, BYTES, &ticket));
	tap_is(drover_ticket_done(&ticket), EINPROGRESS,
	       "%s: behind a gate: in progress", name);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &past), ETIMEDOUT,
	       "%s: a deadline that has passed", name);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &soon), ETIMEDOUT,
	       "%s: a deadline that passes", name);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, &wrong), EINVAL,
	       "%s: no such time: EINVAL", name);
	gate_open_when_asleep(&gate);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), 0,
	       "%s: a wait that sleeps", name);
	gate_was_waited_for(&gate);
	tap_ok(drover_ticket_done(&ticket) == 0 && all_are(back, 3, BYTES),
	       "%s: and then it is done", name);
}

static drover_stream_t *own_stream;
static int own_error[2];

static int wait_for_itself(void *arg)
{
	(void)arg;
	own_error[0] = drover_stream_synchronize(own_stream);
	own_error[1] = drover_stream_destroy(own_stream);
	return 0;
}

static void test_misuse(const char *name, drover_stream_t *s, uint32_t backend)
{
	drover_streamattr_t wrong = { .backend = backend, .reserved = { 1 } };
	drover_kernel_t nothing = { 0 };
	drover_stream_t other;

	own_stream = s;
	MUST(drover_stream_host_call(s, wait_for_itself, NULL, NULL, 0, NULL));
	MUST(drover_stream_synchronize(s));
	tap_is(own_error[0], EDEADLK, "%s: a call that waits for itself", name);
	tap_is(own_error[1], EDEADLK, "%s: a call that destroys its stream",
	       name);
	tap_is(drover_stream_create(&other, &wrong), EINVAL,
	       "%s: attributes that are not zero: EINVAL", name);
	tap_is(drover_stream_run(s, &nothing, NULL, 0, NULL, 0, NULL), EINVAL,
	       "%s: a kernel without a function: EINVAL", name);
	tap_is(drover_stream_load(s, "", "", &nothing), EINVAL,
	       "%s: no kernels to be loaded: EINVAL", name);
}

/* A ring of staging memory that wraps, and copies that are too large for it. */
static void test_staging(const char *name, uint32_t backend)
{
	drover_streamattr_t attr = { .backend = backend, .staging = 256 };
	unsigned char *memory;
	drover_stream_t s;
	bool right = true;

	MUST(drover_stream_create(&s, &attr));
	memory = device_memory(&s, BYTES);
	for (int i = 0; i < 120; i++) {
		size_t bytes = 1 + i * 7 % 128, at = i * 131 % (BYTES - 128);

		memset(host, i, bytes);
		MUST(drover_stream_copy_staged(&s, memory + at, host, bytes,
					       NULL));
		if (i % 10)
			continue;
		MUST(drover_stream_copy(&s, back, memory + at, bytes));
		right &= all_are(back, i, bytes);
	}
	tap_ok(right, "%s: 120 staged copies through 256 bytes", name);
	memset(host, 9, BYTES);
	MUST(drover_stream_copy_staged(&s, memory, host, BYTES, NULL));
	memset(host, 8, BYTES);
	MUST(drover_stream_copy(&s, back, memory, BYTES));
	tap_ok(all_are(back, 9, BYTES), "%s: one that is larger than that",
	       name);
	MUST(drover_stream_free(&s, memory));
	MUST(drover_stream_destroy(&s));
}

static void test(const char *name, uint32_t backend)
{
	drover_stream_t s = stream_of(backend, DROVER_ORDER_ENGINE);

	watchdog(name);
	test_copies(name, &s);
	test_many(name, &s);
	test_calls(name, &s);
	test_tickets(name, &s);
	test_misuse(name, &s, backend);
	tap_is(drover_stream_destroy(&s), 0, "%s: destroyed", name);
	test_staging(name, backend);
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS);
	for_each_cpu_backend(test);
	return tap_exit();
}
