// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are signalled or cancelled when all they have left to do is the
 * system call in which they sleep: it has to be refused, for the wake-up is over
 * before it begins. They are held in front of that call.
 */
#include "crew.h"
#include "futex_call.h"
#include "kinds.h"
#include "sanitizer.h"
#include "watchdog.h"

#define NR_WAITERS 2

static api_cond_t cond;
static api_mutex_t mutex;
static atomic_int nr_at_door;
static atomic_bool is_open;
static _Thread_local bool went_through;

static bool is_mutex(const void *word)
{
	return (uintptr_t)word - (uintptr_t)&mutex < sizeof(mutex);
}

/* What the library calls. The first wait of each thread, for a mutex aside. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !went_through &&
	    !is_mutex(word)) {
		went_through = true;
		atomic_fetch_add(&nr_at_door, 1);
		while (!atomic_load(&is_open))
			sched_yield();
	}
	return syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
}

static void begin(const char *what, bool shared)
{
	watchdog(what);
	atomic_store(&nr_at_door, 0);
	atomic_store(&is_open, false);
	if (kind_cond_init(&cond, shared) ||
	    kind_mutex_init(&mutex, &mutex_kinds[0], shared))
		tap_bail("init");
}

static void end(void)
{
	kind_cond_destroy(&cond, &mutex);
	api_mutex_destroy(&mutex);
}

static void await_at_door(int nr)
{
	if (wait_at_least(&nr_at_door, nr))
		tap_bail("the waiters do not come to sleep");
}

static void signal_one(void)
{
	api_cond_signal(&cond);
}

static void broadcast(void)
{
	kind_broadcast(&cond, &mutex);
}

static void test(const char *what, void (*act)(void), int expected, bool shared)
{
	struct crew crew = crew_of(&cond, &mutex, NR_WAITERS);

	begin(what, shared);
	for (int i = 0; i < NR_WAITERS; i++)
		crew_start(&crew, NULL);
	await_at_door(NR_WAITERS);
	act();
	atomic_store(&is_open, true);
	/* Each returns or sleeps, and then nobody is there to wake it. */
	tap_is(crew_count(&crew, RETURNED), expected, "%s%s: so many return",
	       what, shared ? ", shared" : "");
	while (crew_count(&crew, RETURNED) < NR_WAITERS)
		kind_broadcast(&cond, &mutex);
	crew_end(&crew);
	end();
}

#ifdef COND_API_PTHREAD

static atomic_int victim_tid;
static atomic_bool victim_gone;

static void unlock(void *arg)
{
	pthread_mutex_unlock(&mutex);
	atomic_store(&victim_gone, true);
	(void)arg;
}

static void *wait_cancellable(void *arg)
{
	atomic_store(&victim_tid, blocked_gettid());
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return arg;
}

static void test_cancel(bool shared)
{
	bool asleep = false;
	pthread_t victim;
	void *result;

	if (!FRAMES_MAY_UNWIND) {
		tap_skip("a cancellation", "frames do not unwind");
		return;
	}
	begin("a cancellation", shared);
	atomic_store(&victim_gone, false);
	if (pthread_create(&victim, NULL, wait_cancellable, NULL))
		tap_bail("pthread_create");
	await_at_door(1);
	pthread_cancel(victim);
	atomic_store(&is_open, true);
	while (!atomic_load(&victim_gone) && !asleep) {
		asleep = place_of(getpid(), atomic_load(&victim_tid), &mutex) ==
			 AT_COND;
		sched_yield();
	}
	/* The broadcast is for one that sleeps: it is cancelled when awake. */
	kind_broadcast(&cond, &mutex);
	pthread_join(victim, &result);
	tap_ok(!asleep && result == PTHREAD_CANCELED,
	       "a cancellation%s: it does not sleep", shared ? ", shared" : "");
	end();
}

#else

static void test_cancel(bool shared)
{
	(void)shared;
}

#endif

int main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	tap_plan(4 + 2 * API_IS_PTHREAD);
	for (int shared = 0; shared < 2; shared++) {
		test("a signal", signal_one, 1, shared);
		test("a broadcast", broadcast, NR_WAITERS, shared);
		test_cancel(shared);
	}
	return tap_exit();
}
