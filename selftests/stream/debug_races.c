// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker of the debug build reports every pair of accesses that nothing
 * orders, however much time lies between them, with the places of both calls.
 * It reports no pair that is ordered.
 */
#include "script.h"

static unsigned char memory[BYTES], told;
static const char *from, *to;

static int tell_run(const void *args)
{
	__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
	return 0;
}

/*
 * tell STREAM: a kernel that writes the same memory as all others of this step;
 * a report names the last call
 */
STEP(tell)
{
	const drover_kernel_t tell = { .run = tell_run };
	const drover_access_t writes = { memory, BYTES, DROVER_WRITE };

	__atomic_store_n(&told, 0, __ATOMIC_RELAXED);
	from = here();
	MUST(drover_stream_run(STREAM, &tell, NULL, 0, &writes, 1,
			       &script.tickets[1]));
	to = here();
	return 0;
}

/* tell_all STREAM: a kernel that may touch anything */
STEP(tell_all)
{
	const drover_kernel_t tell = { .run = tell_run };

	return drover_stream_run(STREAM, &tell, NULL, 0, NULL, 0, NULL);
}

/* Wait until the kernel has run. A read of shared memory orders no stream. */
STEP(told)
{
	while (!__atomic_load_n(&told, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

/*
 * places STREAM TO FROM: a copy reads memory that the host writes. Are both
 * named?
 */
STEP(places)
{
	const drover_access_t write = { FROM + 100, 1, DROVER_WRITE };
	const char *at[3];

	at[0] = here();
	MUST(drover_stream_copy_borrowed(STREAM, TO, FROM, BYTES, TICKET));
	at[1] = here();
	MUST(drover_stream_note(&write, 1));
	at[2] = here();
	return races_found() == 1 && races_name(at[0], at[1]) &&
	       races_name(at[1], at[2]);
}

STEP_IS(named, races_name(from, to));

static const struct scenario scenarios[] = {
	/* Two streams write the same memory. */
	{ "cpu: nothing orders two writes",
	  "tell S; tell T; races = 1; named = 1;" },
	{ "cpu: an event orders two writes",
	  "tell S; record S e; wait T e; tell T; races = 0;" },
	{ "cpu: a ticket orders two writes",
	  "tell S; ticket 1; tell T; races = 0;" },
	{ "cpu: a synchronization orders two writes",
	  "tell S; sync S; tell T; races = 0;" },
	{ "cpu: an event of a third stream orders two writes",
	  "tell S; record S e; wait U e; fill U i 1; record U e; wait T e; "
	  "tell T; races = 0;" },
	/* The first stream is not done yet when the third waits. */
	{ "cpu: a ticket of a third stream orders two writes",
	  "gate y S; tell S; record S e; wait U e; fill U i 1 @2; later y; "
	  "ticket 2; waited y; tell T; races = 0;" },
	{ "cpu: time alone orders no writes",
	  "tell S; told; tell T; races = 1; named = 1;" },
	{ "cpu: a kernel may touch anything, and a write is not ordered",
	  "tell_all S; fill T i 1; races = 1;" },
	{ "two copies read the same memory",
	  "borrow S i h; borrow T j h; races = 0;" },
	{ "a kernel reads what another stream has yet to write, in order",
	  "fill s a 1; fill s b 1; drain s; gate x s a; add t b a; races = 0; "
	  "open x; copy t i b; is i 107;" },
	{ "the host's accesses to borrowed memory are noted",
	  "borrow s a h @1; note h r; races = 0; note h w; races = 1; ticket 1; "
	  "note h w; races = 0; borrow s i a; note i r; races = 1; sync s; "
	  "note i r; races = 0;" },
	{ "cpu: the report names the copy and the host's access",
	  "gate x s; places s a h @1 = 1; open x; ticket 1;" },
	/*
	 * A queue orders all operations of one stream; eager orders no copies.
	 */
	{ "cpu: a copy behind a copy",
	  "borrow S h i; borrow S h i; races = 0;" },
	{ "cpu: memory changes when its ticket is done, or it was staged",
	  "set h 3; borrow s a h @1; ticket 1; set h 4; staged s a h; "
	  "set h 5; drain s; races = 0;" },
#if RACES_MAY_BE_REAL
	/* This is a race that ThreadSanitizer would report as well. */
	{ "eager: a copy behind a copy",
	  "borrow S h i; borrow S h i; races = 1;" },
#endif
	{ NULL, NULL },
};

int main(void)
{
	races_watch();
	MUST(drover_stream_watch_races(NULL, NULL));
	MUST(drover_stream_note(NULL, 0));
	races_watch();
	return scripts_main(scenarios);
}
