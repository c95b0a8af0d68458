// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without memory for a group a wait returns spuriously: 0, with the mutex held
 * again, after it has been released. That is the one spurious return of normal
 * operation. It keeps to its deadline, it sleeps before it returns, and nobody
 * remembers a thread that had no memory when that has ended. Where there is
 * memory again, waits wait.
 *
 * APIs: drover pthread
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "fixture.h"
#include "blocked.h"
#include "tap.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_CHECKED_INITIALIZER;

#define NR_TESTS 8

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
	if (setrlimit(RLIMIT_AS, away ? &none : &before))
		tap_bail("setrlimit: %s", strerror(errno));
}

static void test_waits(void)
{
	const struct timespec far =
		deadline_in(CLOCK_MONOTONIC, 3600 * NS_PER_S);
	int waited, timed;

	api_mutex_lock(&mutex);
	take_memory(true);
	waited = api_cond_wait(&cond, &mutex);
	timed = api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far);
	take_memory(false);
	tap_is(waited, 0, "a wait without memory returns");
	tap_is(timed, 0, "so does one with a deadline, long before it");
	tap_is(api_mutex_unlock(&mutex), 0, "with the mutex held");
}

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
	take_memory(false);
	api_mutex_unlock(&mutex);
	tap_is(result, ETIMEDOUT, "its deadline ends it");
	if (!tap_ok(nr_returns <= 100, "and it does not spin"))
		tap_diag("%d returns", nr_returns);
}

/* More threads than a page has waiters, and one whose memory goes with it. */
#define NR_OTHERS  70
#define STACK_SIZE (256 * 1024)

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

	atomic_store(&s->tid, blocked_gettid());
	while (!atomic_load(&s->begin))
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
	pthread_attr_t attr;

	s->cond = on;
	s->go = go;
	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstack(&attr, stack, STACK_SIZE);
	else
		pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (pthread_create(&s->thread, &attr, sleep_until_go, s) ||
	    wait_at_least(&s->tid, 1))
		tap_bail("pthread_create");
	pthread_attr_destroy(&attr);
}

static void sleeper_begin(struct sleeper *s)
{
	atomic_store(&s->begin, true);
	if (wait_blocked(getpid(), s->tid, NULL))
		tap_bail("a thread does not wait");
}

static void sleeper_end(struct sleeper *s)
{
	api_mutex_lock(&mutex);
	atomic_store(s->go, true);
	api_cond_signal(s->cond);
	api_mutex_unlock(&mutex);
	pthread_join(s->thread, NULL);
}

static void wait_a_moment(void)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	api_mutex_lock(&mutex);
	api_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&mutex);
}

static void test_thread_ends(void)
{
	static api_cond_t of_last = API_COND_INITIALIZER;
	static atomic_bool others_go, last_goes;
	void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	watchdog("a thread without memory ends");
	if (stack == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	wait_a_moment();
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_start(&others[i], &cond, &others_go, NULL);
	sleeper_start(&last, &of_last, &last_goes, stack);
	take_memory(true);
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_begin(&others[i]);
	sleeper_begin(&last);
	sleeper_end(&last);
	munmap(stack, STACK_SIZE);
	wait_a_moment();
	for (int i = 0; i < NR_OTHERS; i++)
		sleeper_end(&others[i]);
	take_memory(false);
	tap_ok(true, "who had no memory and has ended is forgotten");
}

static void test_signals(void)
{
	struct fixture fixture = fixture_of(&cond, &mutex, 3);

	take_memory(true);
	api_cond_signal(&cond);
	api_cond_broadcast(&cond);
	take_memory(false);
	fixture_add(&fixture, 3);
	take_memory(true);
	api_cond_signal(&cond);
	fixture_gone(&fixture, 1);
	tap_is(fixture_count(&fixture, AT_COND), 2, "a signal needs no memory");
	api_cond_broadcast(&cond);
	take_memory(false);
	fixture_gone(&fixture, 3);
	tap_is(fixture_results(&fixture, 0), 3, "nor does a broadcast");
	fixture_end(&fixture);
}

int main(int argc, char **argv)
{
	(void)argc;
	api_start(argv);
	tap_plan(NR_TESTS);
	watchdog("waits without memory");
	if (!NEEDS_NO_MEMORY) {
		for (int i = 0; i < NR_TESTS; i++)
			tap_skip("no memory", "the sanitizer needs some");
		return tap_exit();
	}
	test_waits();
	test_deadline();
	test_signals();
	test_thread_ends();
	return tap_exit();
}
