// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every operation does what it should, on every backend of the CPU. A wait for
 * something that has happened already makes no system call. Invalid arguments
 * are refused.
 *
 * APIs: drover stream/debug_basic
 */
#include "sandbox.h"
#include "script.h"

#define PIECE	4000
#define MOST	(4 * PIECE)
#define NR_MANY 40

static unsigned char host[MOST], back[MOST];
static int told_sync, told_destroy;

struct many {
	unsigned char *to[NR_MANY];
	int bytes;
};

static int many_run(const void *args)
{
	const struct many *many = args;

	for (int i = 0; i < NR_MANY; i++)
		memset(many->to[i], i, many->bytes);
	return 0;
}

/* More arguments and accesses than an operation has room for. */
STEP(many)
{
	const drover_kernel_t kernel = { .run = many_run };
	unsigned char *memory = device_memory(STREAM, MOST);
	drover_access_t accesses[NR_MANY];
	struct many many = { .bytes = 10 };
	bool right = true;

	for (int i = 0; i < NR_MANY; i++) {
		many.to[i] = memory + 20 * i;
		accesses[i] = (drover_access_t){ many.to[i], 10, DROVER_WRITE };
	}
	MUST(drover_stream_run(STREAM, &kernel, &many, sizeof(many), accesses,
			       NR_MANY, NULL));
	memset(&many, 0, sizeof(many));
	memset(accesses, 0, sizeof(accesses));
	MUST(drover_stream_copy(STREAM, back, memory, 20 * NR_MANY));
	for (int i = 0; i < NR_MANY; i++)
		right &= all_are(back + 20 * i, i, 10);
	MUST(drover_stream_free(STREAM, memory));
	return !right;
}

/* Two pieces fill the ring of staging memory, so it wraps all the time. */
STEP(stage)
{
	unsigned char *memory = device_memory(STREAM, MOST);
	bool right = true;

	for (int i = 0; i < 120; i++) {
		memset(host, i, PIECE);
		MUST(drover_stream_copy_staged(STREAM, memory + i % 4 * PIECE,
					       host, PIECE - i % 7, NULL));
		if (i % 4 < 3)
			continue;
		MUST(drover_stream_copy(STREAM, back, memory, MOST));
		for (int j = i - 3; j <= i; j++)
			right &= all_are(back + j % 4 * PIECE, j, PIECE - 7);
	}
	MUST(drover_stream_free(STREAM, memory));
	return !right;
}

static atomic_int nr_traps;

static void on_trap(int signal)
{
	nr_traps++;
}

/* A seccomp filter traps all futex calls of this thread. */
static void *wait_trapped(void *arg)
{
	if (filter_futex(NULL, 0, 0, SECCOMP_RET_TRAP))
		tap_diag("no seccomp filters: no call is trapped");
	script_say("ticket 1; done 1; sync s");
	return arg;
}

STEP(traps)
{
	signal(SIGSYS, on_trap);
	joined(thread_of(wait_trapped, NULL));
	return nr_traps;
}

/* calls STREAM NR */
STEP(host_calls)
{
	for (int i = 0; i < args[1]; i++)
		MUST(drover_stream_host_call(STREAM, script_count_call, NULL,
					     NULL, 0, &script.tickets[1]));
	return 0;
}

static int wait_for_itself(void *stream)
{
	told_sync = drover_stream_synchronize(stream);
	told_destroy = drover_stream_destroy(stream);
	return 0;
}

/*
 * asks STREAM TO MEMORY OTHER: a host call waits for the other stream, for
 * ticket 1, and for operations on the memory, which all may wait for this call
 */
static struct {
	drover_stream_t *own, *other;
	void *memory;
	int told[4];
} asks;

static int wait_for_those_behind(void *arg)
{
	asks.told[0] = drover_stream_synchronize(asks.other);
	asks.told[1] = drover_stream_drain(asks.other);
	asks.told[2] =
		drover_ticket_wait(&script.tickets[1], CLOCK_MONOTONIC, NULL);
	asks.told[3] = drover_stream_free(asks.own, asks.memory);
	return 0;
}

STEP(asks)
{
	drover_access_t access = { TO, BYTES, DROVER_WRITE };

	asks.own = STREAM;
	asks.other = &script.streams[args[3]];
	asks.memory = FROM;
	return drover_stream_host_call(STREAM, wait_for_those_behind, NULL,
				       &access, 1, NULL);
}

/* told ERROR: how many of the four waits returned another result */
STEP(told)
{
	int nr = 0;

	for (int i = 0; i < NR_OF(asks.told); i++)
		nr += asks.told[i] == args[0];
	return NR_OF(asks.told) - nr;
}

STEP(no_attr)
{
	const drover_streamattr_t wrong[] = {
		{ .reserved = 1 },
		{ .native = host },
		{ .backend = 77 },
		{ .order = 77 },
	};
	drover_stream_t stream;
	int nr_right = 0;

	for (int i = 0; i < NR_OF(wrong); i++)
		nr_right += drover_stream_create(&stream, &wrong[i]) == EINVAL;
	return nr_right - NR_OF(wrong);
}

STEP(free_twice)
{
	void *memory = device_memory(STREAM, BYTES);

	MUST(drover_stream_free(STREAM, memory));
	return drover_stream_free(STREAM, memory);
}

static drover_stream_t *pins_by;

static void *pin_often(void *memory)
{
	for (int i = 0; i < 1000000; i++)
		if (!drover_stream_pin(pins_by, memory, BYTES))
			MUST(drover_stream_free(pins_by, memory));
	return NULL;
}

STEP(pins)
{
	pthread_t other;

	pins_by = STREAM;
	other = thread_of(pin_often, host);
	pin_often(host + 1);
	joined(other);
	return 0;
}

static const drover_kernel_t nothing;

STEP_IS(itself, drover_stream_host_call(STREAM, wait_for_itself, STREAM, NULL,
					0, NULL));
STEP_IS(told_sync, told_sync);
STEP_IS(told_destroy, told_destroy);
STEP_IS(no_kernel, drover_stream_run(STREAM, &nothing, NULL, 0, NULL, 0, NULL));
STEP_IS(no_call, drover_stream_host_call(STREAM, NULL, NULL, NULL, 0, NULL));
STEP_IS(copy_none, drover_stream_copy(STREAM, TO, FROM, 0));
STEP_IS(overlap, drover_stream_copy_staged(STREAM, TO, TO + 5, 10, TICKET));
STEP_IS(staging, (script.attr.staging = args[0]) == 0);

static const struct scenario scenarios[] = {
	{ "a copy to the device and back",
	  "set h 1; copy s a h; copy s i a; is i 1;" },
	{ "a staged copy to the device, a borrowed copy back",
	  "set h 2; staged s a h; borrow s i a @1; ticket 1; is i 2;" },
	{ "memory is set to a byte",
	  "put s a 5; copy s i a; is i 5; put s j 7; sync s; is j 7;" },
	{ "a ticket of zeroes is done", "drain s; done 9 = 0;" },
	{ "a ticket behind a gate",
	  "gate x s; fill s i 3 @1; done 1 = EINPROGRESS; until 1 0 = ETIMEDOUT; "
	  "until 1 1 = ETIMEDOUT; later x; ticket 1 = 0; waited x; done 1 = 0; "
	  "is i 3;" },
	{ "a kernel with 40 arguments and accesses", "many s;" },
	{ "600 host calls, and no system call by waits that are over",
	  "host_calls s 600; sync s; called = 600; mark s; "
	  "traps = 0; since s = 1100;" },
	{ "staged copies through 8 KiB",
	  "staging 1; create s; gate x s; later x; stage s; waited x;" },
	{ "a host call that waits for itself, and destroys its stream",
	  "itself s; sync s; told_sync = EDEADLK; told_destroy = EDEADLK;" },
	/* Of two streams, either may be looked at first. */
	{ "a host call that waits for a stream, which waits for the call",
	  "gate x s; asks s a b t; add t b a @1; fill t h 1; open x; drain s; "
	  "told EDEADLK; drain t; gate x t; asks t a b s; add s b a @1; "
	  "fill s h 1; open x; drain t; told EDEADLK;" },
	{ "a host call that waits for an independent stream",
	  "fill t b 1 @1; fill t h 1; asks s a c t; drain s; told 0; is h 1;" },
	{ "invalid arguments",
	  "no_attr; no_kernel s = EINVAL; no_call s = EINVAL; "
	  "copy_none s a h; copy s 1 h = EINVAL; "
	  "copy s h 1 = EINVAL; overlap s h = EINVAL; free_twice s = EINVAL; "
	  "staged s a h @1; until 1 -1 = EINVAL; pin s 1 = EINVAL;" },
	{ "cpu: two threads pin the same memory", "pins s;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
