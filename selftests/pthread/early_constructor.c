// SPDX-License-Identifier: GPL-2.0-only
/*
 * Constructors that run before the library's own use all of it: a thread waits
 * and is cancelled, others are signalled. pthread_cancel() once called NULL
 * then.
 */
#include "blocked.h"
#include "api.h"

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

/* Before any library's constructor. One thread goes on waiting afterwards. */
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

/* AddressSanitizer is not there yet either. */
#if FRAMES_MAY_UNWIND
__attribute__((section(".preinit_array"),
	       used)) static void (*const early)(void) = wait_early;
#endif

int main(int argc, char **argv)
{
	pthread_t thread;

	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	tap_plan(3);
	watchdog("waits that began early");
	if (!was_early)
		tap_bail("nothing ran before the constructors");
	tap_ok(was_cancelled, "a wait was cancelled before constructors ran");
	tap_ok(was_signalled, "a wait was signalled before constructors ran");
	/* With the same mutex, which both have to see alike. */
	thread = waits(&pi_mutex);
	pthread_cond_broadcast(&cond);
	pthread_join(thread, NULL);
	pthread_join(patient, NULL);
	tap_is(nr_woken, 3, "one from before and one from now are woken");
	return tap_exit();
}
