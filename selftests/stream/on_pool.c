// SPDX-License-Identifier: GPL-2.0-only
/*
 * All streams of the CPU backend run on one pool. A kernel may distribute its
 * work over the pool, a worker that waits for a stream gives its place to
 * another thread, a kernel may end its thread, and the end of the last stream
 * ends the pool.
 */
#include <drover/pool.h>

#include "script.h"

#define NR_PARTS   100
#define NR_STREAMS 20
#define NR_TASKS   (NR_STREAMS + 64)

static atomic_int nr_begun, times[NR_PARTS];

struct parts {
	void *pool;
	int most;
};

/* The first two parts wait for each other. */
static int part(size_t begin, size_t end, void *args)
{
	int most = ((struct parts *)args)->most;

	nr_begun++;
	reached(&nr_begun, most);
	for (size_t i = begin; i < end; i++)
		times[i]++;
	return nr_begun < most;
}

static int share_out(const void *args)
{
	struct parts parts = *(const struct parts *)args;

	return drover_pool_for(parts.pool, 0, NR_PARTS, 0, part, &parts);
}

/*
 * parts STREAM: a kernel visits each index once, with at least two threads if
 * there are two CPUs
 */
STEP(parts)
{
	const drover_kernel_t kernel = { .run = share_out };
	drover_access_t access = { times, sizeof(times), DROVER_WRITE };
	cpu_set_t cpus = own_cpus();
	struct parts parts = { .most = CPU_COUNT(&cpus) > 1 ? 2 : 1 };

	memset(times, 0, sizeof(times));
	nr_begun = 0;
	MUST(drover_stream_native(STREAM, &parts.pool));
	MUST(drover_stream_run(STREAM, &kernel, &parts, sizeof(parts), &access,
			       1, NULL));
	MUST(drover_stream_synchronize(STREAM));
	for (int i = 0; i < NR_PARTS; i++)
		if (times[i] != 1)
			return i + 1;
	return 0;
}

static int end_thread(void *arg)
{
	pthread_exit(NULL);
}

STEP_DO(alone, await_alone());

/* many: makes streams; 0: there are no more threads than streams or CPUs */
STEP(many)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), nr;
	int before = for_all_threads(is_thread, NULL);
	int most = before + (NR_STREAMS > cpus ? NR_STREAMS : cpus);
	drover_stream_t streams[NR_STREAMS];

	for (int i = 0; i < NR_STREAMS; i++) {
		MUST(drover_stream_create(&streams[i], NULL));
		MUST(fill_submit(&streams[i], script_host[0], i, BYTES, NULL));
	}
	nr = for_all_threads(is_thread, NULL);
	for (int i = 0; i < NR_STREAMS; i++)
		MUST(drover_stream_destroy(&streams[i]));
	return nr > most ? nr : 0;
}

static int wait_for_ticket(void *ticket)
{
	return drover_ticket_wait(ticket, CLOCK_MONOTONIC, NULL);
}

static int open_gate(void *opened)
{
	return sem_post(opened);
}

/* crowd STREAM GATE: more tasks wait for ticket 1 than the pool has places */
STEP(crowd)
{
	drover_task_t tasks[NR_TASKS];
	int result, nr_right = 0;
	void *native;

	MUST(drover_stream_native(STREAM, &native));
	for (int i = 0; i < NR_TASKS; i++) {
		bool opens = i == NR_TASKS - 1;

		drover_task_init(&tasks[i], opens ? open_gate : wait_for_ticket,
				 opens ? (void *)&script.gates[args[1]].opened :
					 &script.tickets[1]);
		MUST(drover_pool_submit(native, &tasks[i]));
	}
	MUST(drover_pool_wait_all(native));
	for (int i = 0; i < NR_TASKS; i++)
		nr_right += !drover_pool_test(native, &tasks[i], &result) &&
			    !result;
	return NR_TASKS - nr_right;
}

static int use_streams(void *tid)
{
	asleep(*(pid_t *)tid);
	return script_say("create u; fill u k 5; destroy u");
}

/* outlives STREAM: a task of the pool uses streams while the last one ends */
STEP(outlives)
{
	pid_t tid = blocked_gettid();
	drover_task_t task;
	void *native;

	drover_task_init(&task, use_streams, &tid);
	MUST(drover_stream_native(STREAM, &native));
	MUST(drover_pool_submit(native, &task));
	return do_destroy(args);
}

static drover_stream_t of_child;

/*
 * Wait until the host call has returned in the child. It ran in the child's
 * main thread, which cannot be joined with glibc 2.43.
 */
static void *use_of_child(void *arg)
{
	char stat[512];

	wait_until(blocked_read(getpid(), getpid(), "stat", stat, 512) > 0 &&
			   strstr(stat, ") Z "),
		   "the host call never returns");
	_exit(drover_stream_drain(&of_child));
}

static int make_in_child(void *arg)
{
	int status;

	if (waitpid(fork(), &status, 0) > 0)
		return status;
	MUST(drover_stream_create(&of_child, NULL));
	thread_of(use_of_child, NULL);
	return ENOSPC;
}

STEP_IS(fork,
	CHILDREN_MAY_HAVE_THREADS ? script_host_call(args, make_in_child) : 0);
STEP_IS(end_thread, script_host_call(args, end_thread));
NUMBER(ECANCELED, ECANCELED);

/* ---- a copy whose source takes time to be read ---- */

static unsigned char *slow;
static atomic_int faulted, recorded;

static void *record_all(void *arg)
{
	reached(&faulted, 1);
	script_say("record s e; fill t i 6; record t f");
	recorded = 1;
	return arg;
}

/* The page becomes readable when the other thread has submitted. */
static void on_fault(int signal)
{
	faulted = 1;
	reached(&recorded, 1);
	mprotect(slow, BYTES, PROT_READ | PROT_WRITE);
}

STEP(slow)
{
	pthread_t thread = thread_of(record_all, NULL);
	void (*before)(int signal) = signal(SIGSEGV, on_fault);
	int err;

	slow = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	err = drover_stream_copy_staged(STREAM, TO, slow, BYTES, TICKET);
	signal(SIGSEGV, before);
	joined(thread);
	return err;
}

static const struct scenario scenarios[] = {
	{ "cpu: several threads run parts of a kernel at the same time",
	  "parts s; parts s; destroy s; alone;" },
	{ "cpu: a worker that waits for a stream gives its place away",
	  "fill t i 1; gate x s @1; crowd s x; destroy s; destroy t; alone;" },
	{ "cpu: a host call ends its thread, and so its stream",
	  "fill s h 1 @1; gate x s; end_thread s h @2; fill s h 2; open x; "
	  "ticket 1 = 0; ticket 2 = ECANCELED; is h 1; fill t i 3; drain t; is i 3; "
	  "destroy s = ECANCELED; destroy t; alone;" },
	{ "cpu: a task uses streams when the last one ends",
	  "outlives s; is k 5; alone;" },
	{ "cpu: a host call returns in a child, whose own stream works",
	  "fork s h; fill s i 1; drain s;" },
	{ "cpu: a staged copy does not delay other threads",
	  "set h 3; staged s h i; slow s h; fill t k 1; sync s; sync t; "
	  "is h 0; is i 6;" },
	{ "cpu: no more threads than CPUs or streams", "many; alone;" },
	{ NULL, NULL },
};

SCRIPTS_MAIN(scenarios)
