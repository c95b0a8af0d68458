/* SPDX-License-Identifier: MIT */
/*
 * Hints for the compiler on where the time goes. A wait or a signal runs
 * through a dozen small functions, compiled as one (whole.c). The functions
 * that programs call are flattened, so all of this becomes one piece of
 * straight code, which knows its mutex. Other cases are kept apart, and rare
 * ones are cold.
 */
#ifndef DROVER_COMPILER_H
#define DROVER_COMPILER_H

#define HOT   __attribute__((flatten))
#define APART __attribute__((noinline))
#define COLD  __attribute__((cold, noinline))

/*
 * A thread sleeps in this function, or wakes others, and may end there, if a
 * signal handler calls pthread_exit(). The compiler must not find out that the
 * function throws nothing: it would leave out the clean-ups of the callers.
 */
#ifdef __clang__
#define SLEEPS __attribute__((noinline, optnone))
#else
#define SLEEPS __attribute__((noipa))
#endif

/*
 * A function that programs call very often, and whose usual way is a dozen or
 * two instructions. That way starts with a cache line, wherever other changes
 * move the function.
 */
#define ONE_LINE __attribute__((aligned(64)))

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif /* DROVER_COMPILER_H */
