// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a condvar may lie and how it may begin: with the initializer, as zero
 * bytes, by init() over garbage, again after destroy(), with attributes.
 */
#include "fixture.h"

#define NR_WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A signal, a broadcast and a timeout. */
static bool works(pthread_cond_t *cond)
{
	struct timespec past = deadline_in(CLOCK_REALTIME, -1);
	struct fixture fixture = fixture_of(cond, &mutex, NR_WAITERS);
	bool ok;

	fixture_add(&fixture, NR_WAITERS);
	pthread_cond_signal(cond);
	fixture_gone(&fixture, 1);
	ok = fixture_count(&fixture, AT_COND) == NR_WAITERS - 1;
	pthread_cond_broadcast(cond);
	fixture_gone(&fixture, NR_WAITERS);
	ok = ok && fixture_results(&fixture, 0) == NR_WAITERS;
	fixture_end(&fixture);
	pthread_mutex_lock(&mutex);
	ok = ok && pthread_cond_timedwait(cond, &mutex, &past) == ETIMEDOUT;
	pthread_mutex_unlock(&mutex);
	return ok;
}

static void test_init(void)
{
	pthread_cond_t *on_heap = malloc(sizeof(*on_heap));
	pthread_cond_t again;
	bool ok = true;

	if (!on_heap)
		tap_bail("no memory");
	memset(on_heap, 0xa5, sizeof(*on_heap));
	tap_is(pthread_cond_init(on_heap, NULL), 0, "init over garbage");
	tap_ok(works(on_heap), "on the heap");
	pthread_cond_destroy(on_heap);
	free(on_heap);
	for (int i = 0; i < 20; i++) {
		ok = ok && pthread_cond_init(&again, NULL) == 0 &&
		     works(&again) && pthread_cond_destroy(&again) == 0;
	}
	tap_ok(ok, "init and destroy, again and again");
}

/* Its deadline must be taken on @clock: a past one there is over. */
static void test_clock(clockid_t clock, clockid_t other, const char *name)
{
	struct timespec soon = deadline_in(clock, 2 * NS_PER_MS);
	pthread_condattr_t attr;
	pthread_cond_t cond;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_cond_init(&cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_lock(&mutex);
	err = pthread_cond_timedwait(&cond, &mutex, &soon);
	tap_ok(err == ETIMEDOUT && deadline_passed(clock, &soon),
	       "attribute %s: timedwait uses it", name);
	soon = deadline_in(other, 2 * NS_PER_MS);
	err = pthread_cond_clockwait(&cond, &mutex, other, &soon);
	tap_ok(err == ETIMEDOUT && deadline_passed(other, &soon),
	       "attribute %s: clockwait uses the other", name);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&cond);
}

/* In the last bytes of a page, which only a 48 byte condvar fits. */
static void test_size(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = map_pages(2 * page);
	pthread_cond_t *last;

	MUST(mprotect(pages + page, page, PROT_NONE));
	last = (pthread_cond_t *)(pages + page) - 1;
	pthread_cond_init(last, NULL);
	tap_ok(works(last), "no byte behind it is touched");
	pthread_cond_destroy(last);
	munmap(pages, 2 * page);
}

int main(int argc, char **argv)
{
	static pthread_cond_t in_data = PTHREAD_COND_INITIALIZER;
	static pthread_cond_t in_bss;
	pthread_cond_t on_stack = PTHREAD_COND_INITIALIZER;

	drop_in_load(argv);
	watchdog("condvars at their beginning");
	tap_plan(11);
	tap_ok(works(&in_data), "static, PTHREAD_COND_INITIALIZER");
	tap_ok(works(&in_bss), "static, zero bytes");
	tap_ok(works(&on_stack), "on the stack");
	test_init();
	test_clock(CLOCK_MONOTONIC, CLOCK_REALTIME, "CLOCK_MONOTONIC");
	test_clock(CLOCK_REALTIME, CLOCK_MONOTONIC, "CLOCK_REALTIME");
	test_size();
	return tap_exit();
}
