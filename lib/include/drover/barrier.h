/* SPDX-License-Identifier: MIT */
/*
 * drover_barrier_t: a barrier, at which threads wait for each other. A waiting
 * thread spins as long as spinning pays, and then sleeps. The library finds out
 * by itself how long spinning pays.
 *
 * drover_barrier(3) has an example. Each meeting of the threads is a phase. A
 * thread that has other work to do between its arrival and its wait calls
 * drover_barrier_arrive() before that work, and drover_barrier_wait_for() after
 * it.
 *
 * The library guarantees the following (how: Documentation/barrier-design.rst):
 *  - The barrier has a count. A phase is complete when that number of threads
 *    has arrived. A thread that has waited for a phase sees everything that the
 *    threads of this phase did before they arrived.
 *  - When a phase is complete, the threads may arrive again at once.
 *  - As soon as one thread has returned from the last phase, this thread or any
 *    other may destroy the barrier and free its memory.
 *  - If more threads arrive than the barrier counts, no arrival is lost: the
 *    surplus arrivals belong to later phases. A call of
 *    drover_barrier_arrive() can arrive for several threads. Such a call is
 *    refused if it would make more arrivals than the phase still needs.
 *
 * In drover_barrier_wait_for() and the functions below it, @phase is a phase
 * that drover_barrier_arrive() has stored. @attr may be NULL, for the defaults.
 *
 * All functions return 0, DROVER_BARRIER_SERIAL or an errno value. No function
 * changes errno, and a function blocks only if its description says so. No
 * function is a cancellation point. Signal handlers may run during a wait, and
 * the wait goes on afterwards. After a fork the child may use a shared barrier.
 * The child has to initialise any other barrier again before using it.
 *
 * A barrier is *not valid* if it was destroyed, or if it was never initialised
 * and all its bytes are zero. For such a barrier a function returns EINVAL if
 * its description says so. In these cases a debug build (-DDROVER_DEBUG) aborts
 * with a message instead. If a barrier was never initialised and its bytes are
 * not zero, the behaviour of all functions except drover_barrier_init() is
 * undefined.
 */
#ifndef DROVER_BARRIER_H
#define DROVER_BARRIER_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct timespec; /* which strict C99 does not declare */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Returned to one thread of each phase: the thread that completed the phase. */
#define DROVER_BARRIER_SERIAL (-1)

/* The largest count of a barrier. */
#define DROVER_BARRIER_MAX 0x10000000u

/**
 * drover_barrier_t - a barrier; the content is private to the library
 *
 * drover_barrier_init() or the initialiser makes a barrier. The type is large.
 * Some of its fields are written by some threads and read by others. These
 * fields are on separate cache lines, whatever the address of the barrier.
 */
typedef struct {
	uint64_t before[8], gate;
	uint32_t count, unused;
	uint64_t rest[46];
} drover_barrier_t;

/*
 * The initialiser makes a barrier with default attributes, without
 * drover_barrier_init(). As a compound literal,
 * (drover_barrier_t)DROVER_BARRIER_INITIALIZER(count), it may also be assigned
 * to a barrier that drover_barrier_destroy() has ended.
 * @count: as for drover_barrier_init()
 */
/* clang-format off */
#define DROVER_BARRIER_INITIALIZER(count) \
	{ { 0 }, (uint64_t)(count) << 32, (count), 0, { 0 } }
/* clang-format on */

/* A phase in which the caller has arrived. */
typedef uint64_t drover_phase_t;

/* For drover_barrierattr_t.flags: several processes share the barrier */
#define DROVER_BARRIER_SHARED 0x1u

/*
 * A value for drover_barrierattr_t.spin_us: a waiting thread hardly spins (for
 * a few hundred nanoseconds at most) before it sleeps
 */
#define DROVER_BARRIER_NO_SPIN UINT32_MAX

/**
 * drover_barrierattr_t - barrier attributes
 * @flags: 0 or DROVER_BARRIER_SHARED
 * @spin_us: the longest that one wait may spin, in microseconds;
 *	     0: the library chooses; DROVER_BARRIER_NO_SPIN: see above
 * @reserved: zero
 * @completion: NULL, or a function. The thread that arrives last in a phase
 *		calls the function once, before any thread of the phase goes on.
 *		The function must not use the barrier, throw an exception, or
 *		end the thread; otherwise the other threads wait for ever. A
 *		shared barrier must have no completion function.
 * @arg: for @completion
 *
 * If all bytes are zero, the attributes are the defaults.
 */
typedef struct {
	uint32_t flags;
	uint32_t spin_us;
	uint32_t reserved[2];
	void (*completion)(void *arg);
	void *arg;
} drover_barrierattr_t;

/**
 * drover_barrier_init() - make @barrier a valid barrier
 * @count: how many threads complete a phase, 1 to DROVER_BARRIER_MAX
 *
 * The first call in a process reads a few files, to find out whether some CPUs
 * are slower than others. The other functions read no file.
 *
 * Return: 0; EINVAL if @count is out of range or the attributes are not valid.
 */
int drover_barrier_init(drover_barrier_t *barrier, unsigned int count,
			const drover_barrierattr_t *attr);

/**
 * drover_barrier_destroy() - end the life of @barrier
 * @barrier: a barrier at which no thread will arrive any more
 *
 * The call blocks until two conditions hold. First, no other thread is in a
 * call that waits for the last phase. This takes until all these threads have
 * got a CPU and have left @barrier. Second, each phase that
 * drover_barrier_arrive() has stored is given back (see there). How long this
 * takes depends on the program. If @barrier is shared, the call blocks for two
 * seconds at most. After that it assumes that the threads that still use
 * @barrier, or have yet to give a phase back, are dead.
 *
 * Return: 0; EBUSY when threads have arrived in a phase that is not complete;
 * EINVAL when @barrier is not valid. After an error nothing is changed. A debug
 * build (-DDROVER_DEBUG) aborts with a message instead of returning EBUSY.
 */
int drover_barrier_destroy(drover_barrier_t *barrier);

/**
 * drover_barrier_wait() - arrive, and wait until all threads have arrived
 *
 * The call blocks until the phase in which the caller arrives is complete. So
 * the call of the thread that arrives last does not block, except as long as a
 * completion function runs. (If more threads use @barrier than it counts, the
 * call may first block until that phase begins: see drover_barrier_arrive().)
 *
 * If the count was set to one, @barrier has no completion function, and
 * @barrier is not shared, the call makes no atomic read-modify-write and
 * returns at once. So if several threads use such a barrier although its count
 * is one, the call does not order their memory accesses. A barrier with a
 * completion function is not treated in this way: even if the count is one and
 * several threads use the barrier, the calls of the function come one after the
 * other.
 *
 * Return: DROVER_BARRIER_SERIAL to the thread that arrived last, 0 to all
 * others; EINVAL when @barrier is not valid, or has no threads left because all
 * have called drover_barrier_arrive_and_drop().
 */
int drover_barrier_wait(drover_barrier_t *barrier);

/**
 * drover_barrier_arrive() - arrive without waiting
 * @nr: for how many threads to arrive, usually 1
 * @phase: where to store the phase to wait for; NULL if no thread will wait for
 *	   it
 *
 * The call does not wait until the phase is complete. It blocks in one case
 * only: @nr is 1, and the arrival is a surplus arrival. An arrival is *surplus*
 * if all arrivals that the present phase needs have come before it, but the
 * thread that completes this phase has not ended it yet. Surplus arrivals can
 * occur only if more threads use @barrier than it counts. A surplus arrival
 * belongs to the next phase, or to a later phase if earlier surplus arrivals
 * already fill the next one. Each phase begins when the phase before it ends.
 * The call blocks until the phase to which the surplus arrival belongs has
 * begun.
 *
 * Each phase that is stored has to be *given back* to the library once, by any
 * thread. drover_barrier_wait_for() and drover_barrier_forget() give a phase
 * back. So do drover_barrier_wait_until() and drover_barrier_test() if they
 * return 0.
 *
 * Return: 0; DROVER_BARRIER_SERIAL when this call completed the phase; EINVAL
 * when @barrier is not valid, when @nr is 0, or when @nr is 1 and @barrier has
 * no threads left (see drover_barrier_wait()); EOVERFLOW when @nr is more than
 * 1 and the phase needs fewer than @nr further arrivals. (If @barrier has no
 * threads left, the phase needs none.) After an error nothing is changed or
 * stored.
 */
int drover_barrier_arrive(drover_barrier_t *barrier, unsigned int nr,
			  drover_phase_t *phase);

/** drover_barrier_wait_for() - block until a phase is complete. Return: 0. */
int drover_barrier_wait_for(drover_barrier_t *barrier, drover_phase_t phase);

/**
 * drover_barrier_wait_until() - drover_barrier_wait_for() with a deadline
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock
 *
 * The call blocks until the phase is complete or @deadline has come.
 *
 * Return: 0; ETIMEDOUT; EINVAL for another clock or a tv_nsec outside 0 to
 * 999,999,999. After ETIMEDOUT or EINVAL the arrival still counts, and @phase
 * still has to be given back.
 */
int drover_barrier_wait_until(drover_barrier_t *barrier, drover_phase_t phase,
			      clockid_t clock, const struct timespec *deadline);

/**
 * drover_barrier_test() - whether a phase is complete
 *
 * Return: 0 if the phase is complete; otherwise EINPROGRESS, and @phase still
 * has to be given back.
 */
int drover_barrier_test(drover_barrier_t *barrier, drover_phase_t phase);

/** drover_barrier_forget() - give back a phase without a wait. Return: 0. */
int drover_barrier_forget(drover_barrier_t *barrier, drover_phase_t phase);

/**
 * drover_barrier_arrive_and_drop() - arrive for the last time
 *
 * Each phase after this one needs one arrival less. The call blocks in the same
 * case as drover_barrier_arrive() with an @nr of 1, and returns the same
 * values.
 */
int drover_barrier_arrive_and_drop(drover_barrier_t *barrier);

/**
 * drover_barrier_set_count() - let @count threads complete the later phases
 * @barrier: a barrier at which no thread arrives until the call has returned
 * @count: 1 to DROVER_BARRIER_MAX
 *
 * The call is legal before the first phase, and as soon as one thread has
 * returned from the latest phase.
 *
 * Return: 0; EINVAL if @count is out of range or @barrier is not valid; EBUSY
 * when threads have arrived in a phase that is not complete. After an error
 * nothing is changed.
 */
int drover_barrier_set_count(drover_barrier_t *barrier, unsigned int count);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_BARRIER_H */
