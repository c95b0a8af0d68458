/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Store buffering: each of two CPUs changes its own word, and then looks at the
 * other's. With a full barrier between the two on both sides, at least one finds
 * the other's change. The pairs of lib/ that are like that:
 *
 * the sleep on a futex	FUTEX_WAIT counts itself, then compares the word;
 *			who wakes changes the word, then looks for sleepers
 *			(the barriers are the kernel's)
 * [W-CANCEL]		cond_wait() says where it waits, then looks at its
 *			interrupts; interrupt() counts one, then looks where
 * [W-INTERRUPT]	cond_wait() says where it waits, then the kernel
 *			compares the word; cond_interrupt_group() comes after
 *			the change of the word, and looks who is there
 * [P-PUSH]		queue_push() counts a task, then looks who searches;
 *			await_task() stops to search, then looks for tasks
 * [P-FOUND], [P-PLACE]	the same, of a worker that has found one, and of one that
 *			gives up its place
 * [P-END]		pool_admit() counts a task, then looks whether the pool
 *			ends; the shutdown says so, then looks for tasks
 * [S-NUMBER]		number_raise() stores a number, then looks for
 *			sleepers; a sleeper says so, then looks at the number
 * [S-USERS]		stream_use() says so, then looks at the stream's life;
 *			who ends it changes that, then looks for users
 *
 * @run quick
 * @twin quick FIRST_BARRIER one_sees_the_other: its store is still in the
 *	buffer
 * @twin quick SECOND_BARRIER one_sees_the_other: the same on the other side
 */
#define NR_CPUS 2

#include "weak.inc"

hidden byte one_sees_the_other;

byte nr_through;
bool saw[NR_CPUS];

#if defined(BUSTED_FIRST_BARRIER)
#define HAS_BARRIER(cpu) (cpu != 0)
#elif defined(BUSTED_SECOND_BARRIER)
#define HAS_BARRIER(cpu) (cpu != 1)
#else
#define HAS_BARRIER(cpu) true
#endif

/* CPU n changes word n. */
proctype Side(byte n)
{
	if
	:: HAS_BARRIER(n) -> store_seq_cst(n, n, 1)
	:: !HAS_BARRIER(n) -> store_release(n, n, 1)
	fi;
	saw[n] = LOAD(n, 1 - n);
	nr_through++
}

init
{
	atomic {
		run Side(0);
		run Side(1)
	}
	nr_through == 2;
	CHECK(one_sees_the_other, saw[0] || saw[1])
}
