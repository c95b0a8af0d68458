// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that runs before the library's own constructors uses the whole library:
 * a thread waits and is cancelled, and others are signalled. pthread_cancel()
 * once called NULL then. Later threads wait in the last of their destructors,
 * after which the library does not learn that they end, and their memory is
 * unmapped. The library once kept a pointer to this memory, which the next
 * pthread_cancel() followed.
 */
#include "blocked.h"
#include "api.h"

#define NR_THREADS 400 /* more than the library has lists of threads */
#define NR_VICTIMS 10

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t pi_mutex;
static atomic_int tid, nr_woken;
static bool was_early, was_cancelled, was_signalled;
static pthread_t patient;

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_cleanup_push(unlock, arg);
	tid = blocked_gettid();
	pthread_cond_wait(&cond, arg);
	nr_woken++;
	pthread_cleanup_pop(1);
	return NULL;
}

static pthread_t waits(pthread_mutex_t *with)
{
	pthread_t thread;

	tid = 0;
	thread = thread_of(wait_for_ever, with);
	asleep_on(&tid, NULL);
	return thread;
}

/*
 * Runs before the constructor of any library. One thread still waits when it
 * returns.
 */
static __attribute__((unused)) void wait_early(void)
{
	pthread_t thread = waits(&mutex);

	was_early = true;
	pthread_cancel(thread);
	was_cancelled = joined(thread) == PTHREAD_CANCELED;
	thread = waits(&mutex);
	pthread_cond_signal(&cond);
	was_signalled = !joined(thread) && nr_woken == 1;
	kind_mutex_init(&pi_mutex, kind_named("PI"), false);
	patient = waits(&pi_mutex);
}

/* AddressSanitizer cannot be used so early. */
#if FRAMES_MAY_UNWIND
__attribute__((section(".preinit_array"),
	       used)) static void (*const early)(void) = wait_early;
#endif

/* ---- waits in a thread's last destructor ---- */

static pthread_key_t key;
static _Thread_local int nr_passes;
static atomic_int nr_last_waits;

/*
 * In each pass this destructor runs after the library's, because the library
 * made its key in the first wait, and so before this key.
 */
static void wait_in_the_end(void *arg)
{
	if (++nr_passes < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, arg);
		return;
	}
	api_time_out(&cond, &mutex);
	nr_last_waits++;
}

static void *end_waiting(void *arg)
{
	pthread_setspecific(key, arg);
	return NULL;
}

/* Run a thread in memory of the test's. */
static void run_on(char *stack)
{
	pthread_t thread;

	start_thread_on(stack, &thread, end_waiting, &key);
	joined(thread);
}

static bool waits_are_cancelled(void)
{
	pthread_t threads[NR_VICTIMS];
	bool cancelled = true;

	for (int i = 0; i < NR_VICTIMS; i++)
		threads[i] = waits(&mutex);
	for (int i = 0; i < NR_VICTIMS; i++) {
		pthread_cancel(threads[i]);
		cancelled &= joined(threads[i]) == PTHREAD_CANCELED;
	}
	return cancelled;
}

static void test_ends(void)
{
	char *stacks = map_pages(NR_THREADS * THREAD_STACK_SIZE);

	watchdog("waits in last destructors");
	MUST(pthread_key_create(&key, wait_in_the_end));
	for (int i = 0; i < NR_THREADS; i++)
		run_on(stacks + i * THREAD_STACK_SIZE);
	munmap(stacks, NR_THREADS * THREAD_STACK_SIZE);
	tap_ok(waits_are_cancelled(),
	       "pthread_cancel() reads no memory of unmapped threads");
	stacks = map_pages(NR_THREADS * THREAD_STACK_SIZE);
	for (int i = 0; i < NR_THREADS; i++)
		run_on(stacks);
	tap_ok(waits_are_cancelled(),
	       "pthread_cancel() reads no stack that ended threads shared");
	munmap(stacks, NR_THREADS * THREAD_STACK_SIZE);
	tap_is(nr_last_waits, 2 * NR_THREADS, "each waited in the last pass");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	tap_plan(6);
	watchdog("waits that began early");
	if (!was_early)
		tap_bail("nothing ran before the constructors");
	tap_ok(was_cancelled, "a wait was cancelled before constructors ran");
	tap_ok(was_signalled, "a wait was signalled before constructors ran");
	/* Both waits use one PI mutex, and must treat it in the same way. */
	thread = waits(&pi_mutex);
	pthread_cond_broadcast(&cond);
	pthread_join(thread, NULL);
	pthread_join(patient, NULL);
	tap_is(nr_woken, 3, "a broadcast wakes an early and a later waiter");
	if (STACKS_MAY_GO)
		test_ends();
	else
		tap_skip_all(3, "unmapped threads",
			     "ThreadSanitizer reads their memory");
	return tap_exit();
}
