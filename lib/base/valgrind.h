/* SPDX-License-Identifier: MIT */
/*
 * Between these two calls, valgrind's tools report no error of the calling
 * thread. Outside valgrind they do nothing, and without its headers they are
 * nothing.
 */
#ifndef DROVER_VALGRIND_H
#define DROVER_VALGRIND_H

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_DISABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING	 ((void)0)
#endif

#endif /* DROVER_VALGRIND_H */
