// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits for a ticket wakes up late: the operation has failed, its
 * stream is destroyed and another one is made. It has the error all the same,
 * and who sleeps for the new stream, alone, is woken.
 */
#include "script.h"

static atomic_bool stop;
static atomic_int late_tid;
static int late_result;
static pthread_t late_thread, hog_thread;

static void *wait_late(void *arg)
{
	struct sched_param none = { 0 };

	MUST(sched_setscheduler(0, SCHED_IDLE, &none));
	late_tid = blocked_gettid();
	late_result =
		drover_ticket_wait(&script.tickets[1], CLOCK_MONOTONIC, NULL);
	return arg;
}

/* Takes the CPU until it is told to stop, or for two seconds. */
static void *take_cpu(void *arg)
{
	int64_t end = blocked_now_ns() + 2 * NS_PER_S;

	while (!stop && blocked_now_ns() < end)
		;
	return arg;
}

/* It waits for ticket 1, asleep. Then another thread wants the CPU. */
STEP(late)
{
	late_tid = 0;
	late_thread = thread_of(wait_late, NULL);
	reached(&late_tid, 1);
	asleep(late_tid);
	stop = false;
	hog_thread = thread_of(take_cpu, NULL);
	return 0;
}

STEP(late_result)
{
	stop = true;
	joined(hog_thread);
	joined(late_thread);
	return late_result;
}

#define ROUND                                                          \
	"gate x s; fail s j @1; late; open x; destroy s = ENOSPC; "    \
	"create s; late_result = ENOSPC; gate y s; later y; drain s; " \
	"waited y; "

static const struct scenario scenarios[] = {
	{ "cpu: who is late has the error, and a lone sleeper is woken",
	  "fill s j 1; " ROUND ROUND ROUND },
	{ NULL, NULL },
};

int main(void)
{
	cpu_set_t one = one_cpu();

	watchdog_seconds = 20;
	sched_setaffinity(0, sizeof(one), &one);
	return scripts_main(scenarios, NULL, 0);
}
