// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that waits for a ticket is slow to wake up: it runs only when nobody
 * else wants the CPU. Meanwhile the operation fails, its stream is destroyed and
 * another one is made. The thread has the error all the same, and who sleeps for
 * the new stream, alone, is woken.
 */
#include "blocks.h"

#define NR_ROUNDS 3

static atomic_bool stop;
static atomic_int late_tid;
static int late_result;

static void *wait_late(void *ticket)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		tap_bail("SCHED_IDLE");
	late_tid = blocked_gettid();
	late_result = drover_ticket_wait(ticket, CLOCK_MONOTONIC, NULL);
	return NULL;
}

/* Takes the CPU until it is told to stop, or for two seconds. */
static void *take_cpu(void *arg)
{
	int64_t end = watchdog_now() + 2 * INT64_C(1000000000);

	while (!stop && watchdog_now() < end)
		;
	return arg;
}

/* The second stream of a slot, of which the first one's waiter is late. */
static drover_stream_t second_stream(void)
{
	drover_stream_t first =
		stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;
	drover_stream_t second;
	pthread_t late, hog;

	stop = false;
	late_tid = 0;
	gate_block(&gate, &first);
	MUST(fail_submit(&first, EIO, NULL, 0, &ticket));
	late = thread_of(wait_late, &ticket);
	reached(&late_tid, 1);
	asleep(late_tid);
	hog = thread_of(take_cpu, NULL);
	gate_open(&gate);
	drover_stream_destroy(&first);
	second = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	stop = true;
	joined(hog);
	joined(late);
	return second;
}

int main(void)
{
	cpu_set_t one = one_cpu();

	tap_plan(2 * NR_ROUNDS);
	watchdog_seconds = 20;
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < NR_ROUNDS; i++) {
		struct gate gate = GATE_INIT;
		drover_stream_t second;

		watchdog("a lone sleeper");
		second = second_stream();
		tap_is(late_result, EIO, "who is late has the error");
		gate_block(&gate, &second);
		gate_open_when_asleep(&gate);
		MUST(drover_stream_drain(&second));
		gate_was_waited_for(&gate);
		tap_ok(true, "a lone sleeper is woken");
		MUST(drover_stream_destroy(&second));
	}
	return tap_exit();
}
