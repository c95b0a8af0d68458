// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread waits in the last of its destructors, when the library hears no more
 * of its end, and its memory is unmapped. The library once kept a pointer
 * there, which the next pthread_cancel() followed.
 */
#include "blocked.h"
#include "api.h"

#define NR_THREADS 400 /* more than the library has lists of threads */
#define NR_VICTIMS 10

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static _Thread_local int nr_passes;
static atomic_int nr_last_waits;

static void wait_a_moment(void)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, 0);

	pthread_mutex_lock(&mutex);
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past);
	pthread_mutex_unlock(&mutex);
}

/* Comes behind the library's, whose key is of the first wait, and older. */
static void wait_in_the_end(void *arg)
{
	if (++nr_passes < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, arg);
		return;
	}
	wait_a_moment();
	nr_last_waits++;
}

static void *end_waiting(void *arg)
{
	pthread_setspecific(key, arg);
	return NULL;
}

/* Run a thread in memory of ours. */
static void run_on(char *stack)
{
	pthread_t thread;

	start_thread_on(stack, &thread, end_waiting, &key);
	joined(thread);
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	atomic_store((atomic_int *)arg, blocked_gettid());
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

static bool waits_are_cancelled(void)
{
	pthread_t threads[NR_VICTIMS];
	bool cancelled = true;
	void *end;

	for (int i = 0; i < NR_VICTIMS; i++) {
		atomic_int tid = 0;

		start_thread(&threads[i], wait_for_ever, &tid);
		asleep_on(&tid, NULL);
	}
	for (int i = 0; i < NR_VICTIMS; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], &end);
		cancelled = cancelled && end == PTHREAD_CANCELED;
	}
	return cancelled;
}

int main(int argc, char **argv)
{
	char *stacks;

	drop_in_load(argv);
	if (!FRAMES_MAY_UNWIND || !STACKS_MAY_GO)
		return sanitizer_skips("unmapped threads",
				       "the sanitizer looks at them");
	tap_plan(3);
	watchdog("waits in last destructors");
	wait_a_moment();
	MUST(pthread_key_create(&key, wait_in_the_end));
	stacks = map_pages(NR_THREADS * THREAD_STACK_SIZE);
	for (int i = 0; i < NR_THREADS; i++)
		run_on(stacks + i * THREAD_STACK_SIZE);
	munmap(stacks, NR_THREADS * THREAD_STACK_SIZE);
	tap_ok(waits_are_cancelled(), "threads that are unmapped are not met");
	stacks = map_pages(NR_THREADS * THREAD_STACK_SIZE);
	for (int i = 0; i < NR_THREADS; i++)
		run_on(stacks);
	tap_ok(waits_are_cancelled(), "nor those that had the same memory");
	munmap(stacks, NR_THREADS * THREAD_STACK_SIZE);
	tap_is(nr_last_waits, 2 * NR_THREADS, "each waited in the last pass");
	return tap_exit();
}
