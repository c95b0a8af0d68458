// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pthread_cancel() is stopped after each of its instructions, as a thread of
 * low priority may be, while the waiter that it was about is signalled: that
 * one returns, or sleeps until the canceller goes on. It once spun for it, and
 * a spinning thread of high priority would keep a canceller from going on.
 */
#include "run.h"
/* Longer than whoever looks takes for ever. */
#define EVERYWHERE_SPIN_MS 10000
#include "../cond/meet.h"

static pthread_t waiter, signaller;
static atomic_int waiter_tid;
static atomic_bool returned;
static bool settled;
static unsigned long long waited_at;

static void *wait_uncancelled(void *arg)
{
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_mutex_lock(&mutex);
	atomic_store(&waiter_tid, blocked_gettid());
	pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	atomic_store(&returned, true);
	return arg;
}

/* The futex that the waiter is in a call for; 0 if in none. */
static unsigned long long futex_of_waiter(void)
{
	unsigned long long address;
	char text[512];
	long nr;

	if (blocked_read(getpid(), atomic_load(&waiter_tid), "syscall", text,
			 sizeof(text)) < 0 ||
	    sscanf(text, "%ld 0x%llx", &nr, &address) != 2 || !is_futex(nr))
		return 0;
	return address;
}

STEP(waiter)
{
	settled = false;
	atomic_store(&returned, false);
	atomic_store(&waiter_tid, 0);
	start_thread(&waiter, wait_uncancelled, NULL);
	if (wait_at_least(&waiter_tid, 1) ||
	    place_settled(getpid(), atomic_load(&waiter_tid), &mutex))
		tap_bail("the waiter never slept");
	waited_at = futex_of_waiter();
	return 0;
}

STEP(cancel)
{
	return pthread_cancel(waiter);
}

static void *signal_once(void *arg)
{
	pthread_cond_signal(&cond);
	return arg;
}

/* Asleep, and no longer for its signal: for a lock of the library's. */
static bool waits_for_lock(void)
{
	unsigned long long address = futex_of_waiter();

	return address && address != waited_at &&
	       blocked_in_futex(getpid(), atomic_load(&waiter_tid), NULL) == 1;
}

/*
 * It may be on its way for a moment, but is seen to return or to sleep. The
 * signaller is another thread, for the waiter may have what it needs.
 */
STEP(signal_and_settle)
{
	int64_t deadline = blocked_now_ns() + 4 * NS_PER_S;

	start_thread(&signaller, signal_once, NULL);
	while (!settled && blocked_now_ns() < deadline) {
		settled = atomic_load(&returned) || waits_for_lock();
		sched_yield();
	}
	return 0;
}

STEP(was_settled)
{
	pthread_join(signaller, NULL);
	pthread_join(waiter, NULL);
	return settled;
}

static const struct meeting meetings[] = {
	{ "a cancellation, stopped, and a signal", "waiter", "cancel",
	  "signal_and_settle", "was_settled = 1" },
};

int main(int argc, char **argv)
{
	drop_in_load(argv);
	scenarios_start(argc, argv, 500);
	tap_plan(2);
	for (int shared = 0; shared <= 1; shared++) {
		scene_start("", "normal", shared);
		meetings_test(shared ? "shared" : "private", meetings, 1);
	}
	return tap_exit();
}
