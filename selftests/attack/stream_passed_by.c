// SPDX-License-Identifier: GPL-2.0-only
/*
 * A copy of an eager stream is over before the queue's thread has passed by it,
 * and its place is wanted: who wants it sleeps.
 */
#include "futex_call.h"
#include "blocks.h"
#include "../mock/eager/eager.h"

#define BYTES 64

static atomic_int queue_tid;
static atomic_bool hold, let_go;

/* What the library calls. Those that wait are the first thread and the queue's. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	bool waits = (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	pid_t tid = blocked_gettid();
	bool is_queue = waits && tid != getpid();
	long result;
	int error;

	if (is_queue)
		queue_tid = tid;
	result =
		syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	error = errno;
	while (is_queue && hold && !let_go)
		sched_yield();
	errno = error;
	return result;
}

static void *let_go_when_asleep(void *slept)
{
	*(bool *)slept = !wait_blocked(getpid(), getpid(), NULL);
	let_go = true;
	return NULL;
}

int main(void)
{
	drover_streamattr_t attr = { .backend = DROVER_BACKEND_EAGER,
				     .depth = 1 };
	unsigned char *a, *b, back[BYTES];
	drover_stream_t stream;
	pthread_t opener;
	bool slept;
	int nr;

	tap_plan(2);
	watchdog("a place that is wanted");
	MUST(drover_stream_create(&stream, &attr));
	a = device_memory(&stream, BYTES);
	b = device_memory(&stream, BYTES);
	MUST(fill_submit(&stream, a, 7, BYTES, NULL));
	MUST(drover_stream_drain(&stream));
	asleep_on(&queue_tid, NULL);
	hold = true;
	nr = for_all_threads(is_thread, NULL);
	MUST(drover_stream_copy_borrowed(&stream, b, a, BYTES, NULL));
	while (for_all_threads(is_thread, NULL) != nr)
		sched_yield();
	start_thread(&opener, let_go_when_asleep, &slept);
	MUST(drover_stream_copy_borrowed(&stream, back, b, BYTES, NULL));
	pthread_join(opener, NULL);
	tap_ok(slept, "it sleeps until the queue's thread has passed by");
	MUST(drover_stream_drain(&stream));
	tap_ok(all_are(back, 7, BYTES), "both copies were made");
	MUST(drover_stream_free(&stream, a));
	MUST(drover_stream_free(&stream, b));
	MUST(drover_stream_destroy(&stream));
	return tap_exit();
}
