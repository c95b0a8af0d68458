// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without memory for a group a wait returns 0, with the mutex held again: the
 * one spurious return of normal operation. It keeps to its deadline, it sleeps
 * before it returns, and nobody remembers a thread that had no memory when that
 * has ended. A thread's first wait needs two pages at most, and one that was
 * prepared none. And drover_version().
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

/* What is mapped already stays. */
static void take_memory(bool away)
{
	static struct rlimit before;
	struct rlimit none;

	if (away && getrlimit(RLIMIT_AS, &before))
		tap_bail("getrlimit: %s", strerror(errno));
	none = (struct rlimit){ .rlim_max = before.rlim_max };
	MUST(setrlimit(RLIMIT_AS, away ? &none : &before));
}

/* Not if an emulator has mapped all that there is. */
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
	{ "a signal and a broadcast need none",
	  "no_memory; signal; broadcast = 0; memory; wait 3; no_memory; signal;"
	  "gone 1; waiting = 2; broadcast; memory; gone 3; zeros = 3" },
};

/* In a child, which has not waited yet: is it no spurious return? */
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
	       "a thread that was prepared needs none for its first wait");
	tap_ok(drover_version() && strchr(drover_version(), '.'), "a version");
}
#endif

/* As many returns as if each slept for a millisecond. */
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
	tap_is(result, ETIMEDOUT, "its deadline ends it");
	if (!tap_ok(nr_returns <= 100, "and it does not spin"))
		tap_diag("%d returns", nr_returns);
}

/* More threads than a page has waiters, and one whose memory goes with it. */
#define NR_OTHERS 70

static struct sleeper {
	pthread_t thread;
	api_cond_t *cond;
	atomic_bool *go;
	atomic_bool begin;
	atomic_int tid;
} others[NR_OTHERS], last;

static void *sleep_until_go(void *arg)
{
	struct sleeper *s = arg;

	s->tid = blocked_gettid();
	while (!s->begin)
		usleep(1000);
	api_mutex_lock(&mutex);
	while (!atomic_load(s->go))
		api_cond_wait(s->cond, &mutex);
	api_mutex_unlock(&mutex);
	return NULL;
}

static void sleeper_start(struct sleeper *s, api_cond_t *on, atomic_bool *go,
			  void *stack)
{
	s->cond = on;
	s->go = go;
	start_thread_on(stack, &s->thread, sleep_until_go, s);
	reached(&s->tid, 1);
}

static void sleeper_begin(struct sleeper *s)
{
	s->begin = true;
	asleep(s->tid);
}

static void sleeper_end(struct sleeper *s)
{
	api_mutex_lock(&mutex);
	atomic_store(s->go, true);
	api_cond_signal(s->cond);
	api_mutex_unlock(&mutex);
	pthread_join(s->thread, NULL);
}

static void test_thread_ends(void)
{
	static api_cond_t of_last = API_COND_INITIALIZER;
	static atomic_bool others_go, last_goes;
	void *stack = map_pages(THREAD_STACK_SIZE);

	watchdog("a thread without memory ends");
	api_time_out(&cond, &mutex);
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_start(&others[i], &cond, &others_go, NULL);
	sleeper_start(&last, &of_last, &last_goes, stack);
	take_memory(true);
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_begin(&others[i]);
	sleeper_begin(&last);
	sleeper_end(&last);
	munmap(stack, THREAD_STACK_SIZE);
	api_time_out(&cond, &mutex);
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_end(&others[i]);
	take_memory(false);
	tap_ok(true, "who had no memory and has ended is forgotten");
}

int main(int argc, char **argv)
{
	api_start(argv);
	watchdog("waits without memory");
	if (!NEEDS_NO_MEMORY || !memory_can_be_taken())
		return tap_skipped("no memory",
				   "a sanitizer or an emulator has some");
	tap_plan(6 + NR_NATIVE);
	scene_start("", "errorcheck", false);
	tap_ok(child_does(waits_with_two_pages, "a first wait"),
	       "two pages are enough for a thread's first wait");
	test_prepared();
	scenes_test("without memory", &scenes[0], 1);
	test_deadline();
	/* From here on the library has some to spare. */
	scenes_test("without memory", &scenes[1], 1);
	test_thread_ends();
	return tap_exit();
}
