// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker of the debug build: every pair that nothing orders is reported,
 * whatever the time between them, with both places; every order that there is
 * keeps it silent.
 */
#include "script.h"

static unsigned char memory[BYTES], host[BYTES];
static atomic_bool may_end;

static int tell_run(const void *args)
{
	while (!may_end)
		sched_yield();
	__atomic_store_n(&script_host[3][0], 1, __ATOMIC_RELEASE);
	return 0;
}

static const drover_kernel_t tell = { .run = tell_run };
static const drover_access_t tell_writes = { memory, BYTES, DROVER_WRITE };

/* A report names the call, which is between two addresses. */
#define TELL(stream, from, to)                                               \
	do {                                                                 \
		(from) = here();                                             \
		MUST(drover_stream_run(&script.streams[stream], &tell, NULL, \
				       0, &tell_writes, 1,                   \
				       &script.tickets[1]));                 \
		(to) = here();                                               \
	} while (0)

/*
 * Two streams write the same. What puts the second behind the first, in words;
 * then how many races there are.
 */
static const struct ordered {
	const char *name, *text;
	int races;
} all_ordered[] = {
	{ "nothing", "", 1 },
	{ "an event", "record S e; wait T e;", 0 },
	{ "a ticket", "ticket 1;", 0 },
	{ "a synchronization", "sync S;", 0 },
	{ "an event of a third stream",
	  "record S e; wait U e; fill U i 1; record U e; wait T e;", 0 },
	/* The first stream is not done yet when the third waits. */
	{ "a ticket of a third stream",
	  "record S e; wait U e; fill U i 1 @2; ticket 2;", 0 },
	/* Done, but nobody has asked: a look at the memory is none. */
	{ "time alone", "", 1 },
};

static void *let_end(void *arg)
{
	sched_yield();
	may_end = true;
	return arg;
}

static void test_ordered(const struct ordered *o)
{
	pthread_t thread = 0;
	const char *at[4];
	bool right;

	__atomic_store_n(&script_host[3][0], 0, __ATOMIC_RELAXED);
	script_start(o->name, " S T U ", 0, 0);
	may_end = !strstr(o->text, "ticket 2");
	TELL('S', at[0], at[1]);
	if (!may_end)
		thread = thread_of(let_end, NULL);
	right = script_say(o->text);
	while (o == &all_ordered[NR_OF(all_ordered) - 1] &&
	       !__atomic_load_n(&script_host[3][0], __ATOMIC_ACQUIRE))
		sched_yield();
	TELL('T', at[2], at[3]);
	right &= races_found() == o->races;
	if (o->races)
		right &= races_name(at[0], at[1]) && races_name(at[2], at[3]);
	tap_ok(right, "%s: %d races, and both places are named", o->name,
	       o->races);
	if (thread)
		joined(thread);
	script_end();
}

static const struct scenario scenarios[] = {
	/* In one stream a queue orders all, and eager copies nothing. */
	{ "two that read the same", "borrow S i h; borrow T j h; races = 0;" },
	{ "what the other has yet to write, in order",
	  "fill s a 1; fill s b 1; drain s; gate x s a; add t b a; races = 0; "
	  "open x; copy t i b; is i 107;" },
	{ "a borrowed source, noted",
	  "borrow s a h @1; note h r; races = 0; note h w; races = 1; ticket 1; "
	  "note h w; races = 0; borrow s i a; note i r; races = 1; sync s; "
	  "note i r; races = 0;" },
	{ "cpu: a copy behind a copy",
	  "borrow S h i; borrow S h i; races = 0;" },
	{ "cpu: changed when its ticket is done, or staged",
	  "set h 3; borrow s a h @1; ticket 1; set h 4; staged s a h; "
	  "set h 5; drain s; races = 0;" },
#if RACES_MAY_BE_REAL
	/* ThreadSanitizer sees it as well. */
	{ "eager: a copy behind a copy",
	  "borrow S h i; borrow S h i; races = 1;" },
#endif
	{ NULL, NULL },
};

/* The copy reads what the host wrote meanwhile, and the report names places. */
static void test_places(void)
{
	drover_stream_t s = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	void *device = device_memory(&s, BYTES);
	drover_access_t write = { host + 100, 1, DROVER_WRITE };
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;
	const char *at[3];

	gate_block(&gate, &s);
	at[0] = here();
	MUST(drover_stream_copy_borrowed(&s, device, host, BYTES, &ticket));
	at[1] = here();
	MUST(drover_stream_note(&write, 1));
	at[2] = here();
	tap_ok(races_found() == 1 && races_name(at[0], at[1]) &&
		       races_name(at[1], at[2]),
	       "the report names the copy and the host's access");
	gate_open(&gate);
	MUST(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL));
	MUST(drover_stream_free(&s, device));
	MUST(drover_stream_destroy(&s));
}

/* One that may touch anything races with all. */
static void test_unknown(void)
{
	script_start("unknown", " S T ", 0, 0);
	MUST(drover_stream_run(&script.streams['S'], &tell, NULL, 0, NULL, 0,
			       NULL));
	tap_ok(script_say("fill T i 1; races = 1;"), "one that may touch all");
	script_end();
}

static void test_others(void)
{
	for (int i = 0; i < NR_OF(all_ordered); i++)
		test_ordered(&all_ordered[i]);
	test_places();
	test_unknown();
	MUST(drover_stream_watch_races(NULL, NULL));
	MUST(drover_stream_note(NULL, 0));
}

int main(void)
{
	races_watch();
	return scripts_main(scenarios, test_others, NR_OF(all_ordered) + 2);
}
