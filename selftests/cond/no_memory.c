// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without memory for a group, a wait returns 0 with the mutex held again. This
 * is the only spurious return of normal operation. Such a wait keeps to its
 * deadline, and sleeps before it returns. The library forgets a thread that had
 * no memory when the thread has ended. A thread's first wait needs at most two
 * pages, and none if the thread was prepared. The file also tests
 * drover_version().
 *
 * APIs: drover pthread
 */
#include <sys/resource.h>

#include "steps.h"

#define PAGE 4096

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NEEDS_NO_MEMORY 0
#else
#define NEEDS_NO_MEMORY 1
#endif

/* New mappings fail; pages that are mapped already stay. */
static void take_memory(bool away)
{
	static struct rlimit before;
	struct rlimit none;

	if (away && getrlimit(RLIMIT_AS, &before))
		tap_bail("getrlimit: %s", strerror(errno));
	none = (struct rlimit){ .rlim_max = before.rlim_max };
	MUST(setrlimit(RLIMIT_AS, away ? &none : &before));
}

/* No: an emulator has mapped all memory that there is. */
static bool memory_can_be_taken(void)
{
	void *page;

	take_memory(true);
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	take_memory(false);
	return page == MAP_FAILED;
}

STEP_DO(no_memory, take_memory(true));
STEP_DO(memory, take_memory(false));
STEP_IS(own_wait, api_cond_wait(&cond, &mutex));

STEP(own_wait_until_far)
{
	const struct timespec far =
		deadline_in(CLOCK_MONOTONIC, 3600 * NS_PER_S);

	return api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far);
}

static const struct scene scenes[] = {
	{ "a wait returns, long before its deadline, with the mutex held",
	  "lock; no_memory; own_wait = 0; own_wait_until_far = 0; memory;"
	  "unlock = 0" },
	{ "a signal and a broadcast need no memory",
	  "no_memory; signal; broadcast = 0; memory; wait 3; no_memory; signal;"
	  "gone 1; waiting = 2; broadcast; memory; gone 3; zeros = 3" },
};

/* Runs in a child, which has not waited yet. Is the return no spurious one? */
static bool first_wait_times_out(void)
{
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, 50 * NS_PER_MS);

	api_mutex_lock(&mutex);
	return api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon) ==
	       ETIMEDOUT;
}

static bool waits_with_two_pages(void)
{
	struct rlimit limit;
	char text[64];

	blocked_read(getpid(), getpid(), "statm", text, sizeof(text));
	MUST(getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = (strtoul(text, NULL, 10) + 2) * PAGE;
	MUST(setrlimit(RLIMIT_AS, &limit));
	return first_wait_times_out();
}

#if API_IS_PTHREAD
#define NR_NATIVE 0
#define test_prepared()
#else
#define NR_NATIVE 2

static bool waits_prepared(void)
{
	MUST(drover_prepare_thread());
	take_memory(true);
	return first_wait_times_out();
}

static void test_prepared(void)
{
	tap_ok(child_does(waits_prepared, "prepared"),
	       "a thread that was prepared needs no memory for its first wait");
	tap_ok(drover_version() && strchr(drover_version(), '.'),
	       "drover_version() is a version");
}
#endif

/* At most as many returns as if each wait slept for a millisecond. */
static void test_deadline(void)
{
	const struct timespec end =
		deadline_in(CLOCK_MONOTONIC, 100 * NS_PER_MS);
	const struct timespec late = deadline_in(CLOCK_MONOTONIC, NS_PER_S);
	int result = 0, nr_returns = 0;

	api_mutex_lock(&mutex);
	take_memory(true);
	while (result == 0 && !deadline_passed(CLOCK_MONOTONIC, &late)) {
		result = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC,
					    &end);
		nr_returns++;
	}
	if (deadline_passed(CLOCK_MONOTONIC, &late))
		result = 0;
	take_memory(false);
	api_mutex_unlock(&mutex);
	tap_is(result, ETIMEDOUT, "a wait without memory ends at its deadline");
	if (!tap_ok(nr_returns <= 100, "a wait without memory does not spin"))
		tap_diag("%d returns", nr_returns);
}

/* More threads than a page has struct waiters. The stack of one is unmapped. */
#define NR_OTHERS 70

static api_cond_t of_last = API_COND_INITIALIZER;
static atomic_int nr_there, last_tid, may_begin;
static atomic_bool last_goes, others_go;

/* The thread reports that it runs, and waits only when there is no memory. */
static int wait_later(api_cond_t *c, api_mutex_t *m)
{
	atomic_bool *goes = c == &of_last ? &last_goes : &others_go;

	api_mutex_unlock(m);
	nr_there++;
	reached(&may_begin, 1);
	api_mutex_lock(m);
	while (!*goes)
		api_cond_wait(c, m);
	return 0;
}

static void *be_last(void *arg)
{
	last_tid = blocked_gettid();
	api_mutex_lock(&mutex);
	wait_later(&of_last, &mutex);
	api_mutex_unlock(&mutex);
	return arg;
}

static void test_thread_ends(void)
{
	void *stack = map_pages(THREAD_STACK_SIZE);
	pthread_t last;

	watchdog("a thread without memory ends");
	api_time_out(&cond, &mutex);
	fixture = fixture_of(&cond, &mutex, NR_OTHERS);
	for (int i = 0; i < NR_OTHERS; i++)
		fixture_start(&fixture, &(struct member){ .wait = wait_later });
	start_thread_on(stack, &last, be_last, NULL);
	reached(&nr_there, NR_OTHERS + 1);
	take_memory(true);
	may_begin = 1;
	for (int i = 0; i < NR_OTHERS; i++)
		asleep(fixture.members[i].tid);
	asleep(last_tid);
	last_goes = true;
	api_cond_signal(&of_last);
	pthread_join(last, NULL);
	munmap(stack, THREAD_STACK_SIZE);
	api_time_out(&cond, &mutex);
	others_go = true;
	api_cond_broadcast(&cond);
	fixture_end(&fixture);
	take_memory(false);
	tap_ok(true, "a thread that had no memory and has ended is forgotten");
}

int main(int argc, char **argv)
{
	api_start(argv);
	watchdog("waits without memory");
	if (!NEEDS_NO_MEMORY || !memory_can_be_taken())
		return tap_skipped("no memory",
				   "a sanitizer or an emulator keeps memory");
	tap_plan(6 + NR_NATIVE);
	scene_start("", "errorcheck", false);
	tap_ok(child_does(waits_with_two_pages, "a first wait"),
	       "two pages are enough for a thread's first wait");
	test_prepared();
	scenes_test("without memory", &scenes[0], 1);
	test_deadline();
	/* From here on the library keeps memory for later waits. */
	scenes_test("without memory", &scenes[1], 1);
	test_thread_ends();
	return tap_exit();
}
