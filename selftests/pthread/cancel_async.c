// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the asynchronous cancellation type are cancelled at each
 * instruction of a wait, and of a pthread_cancel() of their own. What the
 * library locks inside was once left locked: their cleanup handlers wait, which
 * needs it.
 */
#include "../cond/meet.h"

static pthread_cond_t own = PTHREAD_COND_INITIALIZER;
static bool had_mutex;

static pthread_t immune;
static atomic_bool stop;

/*
 * Waits, as a thread that has never waited before does, and times out; and
 * cancels, as it may have done before.
 */
static void unlock_and_wait(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	preempt_trap_end();
	pthread_cond_clockwait(&own, &mutex, CLOCK_MONOTONIC, &past);
	pthread_cancel(immune);
	had_mutex = pthread_mutex_unlock(&mutex) == 0;
}

/* Call @act with the mutex and the asynchronous type. */
static void asynchronously(void (*act)(void))
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock_and_wait, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &ignored);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
	act();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored);
	pthread_cleanup_pop(1);
}

STEP_IS(nobody_waits, had_mutex = false);
STEP_IS(had_mutex, had_mutex);
STEP_IS(cancel, pthread_cancel(caller.thread));

static void wait_once(void)
{
	pthread_cond_wait(&cond, &mutex);
}

STEP_DO(wait_asynchronous, asynchronously(wait_once));

/* One that does not mind being cancelled, for others to try. */
static void *be_immune(void *arg)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	while (!stop)
		pthread_cond_wait(&own, &mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void cancel_immune(void)
{
	pthread_cancel(immune);
}

STEP_DO(cancel_asynchronous, asynchronously(cancel_immune));

static const struct meeting meetings[] = {
	/* Nobody signals: the round ends by the cancellation, or never. */
	{ "a wait of asynchronous type, cancelled", "nobody_waits",
	  "wait_asynchronous", "cancel", "had_mutex = 1" },
	{ "a cancellation by one of asynchronous type, cancelled",
	  "nobody_waits", "cancel_asynchronous", "cancel", "had_mutex = 1" },
};

/* The dynamic linker, which finds functions when first called, is no target. */
static void *find_functions(void *arg)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored);
	pthread_mutex_lock(&mutex);
	pthread_cancel(pthread_self());
	unlock_and_wait(arg);
	return arg;
}

int main(int argc, char **argv)
{
	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND)
		return frames_stay();
	meetings_start(argc, argv, 500);
	/* The canceller has to be through before the cancelled goes on. */
	everywhere_spin_ms = 2000;
	tap_plan(NR_OF(meetings));
	scene_start("", "errorcheck", false);
	watchdog("the first calls");
	start_thread(&immune, be_immune, NULL);
	joined(thread_of(find_functions, NULL));
	meetings_test("asynchronous", meetings, NR_OF(meetings));
	pthread_mutex_lock(&mutex);
	stop = true;
	pthread_cond_broadcast(&own);
	pthread_mutex_unlock(&mutex);
	pthread_join(immune, NULL);
	return tap_exit();
}
