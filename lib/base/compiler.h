/* SPDX-License-Identifier: MIT */
/*
 * What the compiler is told of where the time goes. A wait or a signal runs
 * through a dozen small functions, compiled as one (whole.c). Those that programs
 * call are flattened, so all of that becomes one piece of straight code, which
 * knows its mutex. What is another case stays apart, and what is rare is cold.
 */
#ifndef DROVER_COMPILER_H
#define DROVER_COMPILER_H

#define HOT   __attribute__((flatten))
#define APART __attribute__((noinline))
#define COLD  __attribute__((cold, noinline))

/*
 * A thread sleeps in it, or wakes others, and may end there: a signal handler calls
 * pthread_exit(). The compiler must not find out that nothing is thrown there,
 * or it leaves out the clean-ups of the callers.
 */
#ifdef __clang__
#define SLEEPS __attribute__((noinline, optnone))
#else
#define SLEEPS __attribute__((noipa))
#endif

/*
 * A function whose usual way is a dozen or two instructions, and which is called as
 * often as a program likes: that way starts with a cache line, wherever other
 * changes move it to.
 */
#define ONE_LINE __attribute__((aligned(64)))

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif /* DROVER_COMPILER_H */
