// SPDX-License-Identifier: MIT
/*
 * valgrind's helgrind and drd know glibc's condition variables by the names of
 * their functions. They do not know the drop-in's functions, nor that these use
 * atomic operations. Under valgrind alone, a call of the drop-in leads to a
 * function that is defined here. It tells both tools what glibc's function
 * would tell them. Until the drop-in returns, they report no error of that
 * thread.
 *
 * Each function passes on four arguments, the most that any of the wrapped
 * functions has. If the caller has given fewer, the rest is in registers that
 * the wrapped function does not read.
 */
#if __has_include(<valgrind/helgrind.h>) && __has_include(<valgrind/drd.h>)
#include <errno.h>
#include <threads.h>
#include <valgrind/drd.h>
#include <valgrind/helgrind.h>

#include "drop_in.h"

#define TELL(request, ...) \
	VALGRIND_DO_CLIENT_REQUEST_STMT(request, a, __VA_ARGS__, 0)
#define HG(request, ...) \
	TELL(_VG_USERREQ__HG_PTHREAD_COND_##request, __VA_ARGS__)
#define DRD(request) TELL(VG_USERREQ__DRD_ANNOTATE_HAPPENS_##request, 0, 0, 0)

/* Runs at the end of a call, also if the thread ends in it. */
static void report_again(const int *unused)
{
	(void)unused;
	VALGRIND_ENABLE_ERROR_REPORTING;
}

/* gcc knows that a call may not return, but assumes that an asm does. */
__attribute__((noipa)) static long call(OrigFn drop_in, long a, long b, long c,
					long d)
{
	long ret;

	CALL_FN_W_WWWW(ret, drop_in, a, b, c, d);
	return ret;
}

/* @name: a pattern, in which Zu is _ and Za is *; versions come last */
#define WRAP(name, before, after)                                            \
	__attribute__((visibility("default"))) long I_WRAP_SONAME_FNNAME_ZZ( \
		libdroverZhpthreadZdsoZd1, name)(long a, long b, long c,     \
						 long d)                     \
	{                                                                    \
		int quiet __attribute__((cleanup(report_again))), ret;       \
		OrigFn drop_in;                                              \
                                                                             \
		VALGRIND_GET_ORIG_FN(drop_in);                               \
		before;                                                      \
		VALGRIND_DISABLE_ERROR_REPORTING;                            \
		ret = (int)call(drop_in, a, b, c, d);                        \
		after;                                                       \
		return ret;                                                  \
	}
#define WRAP_WAIT(name)                                                     \
	WRAP(name, HG(WAIT_PRE, b, 0, 0),                                   \
	     HG(WAIT_POST, b, ret == ETIMEDOUT || ret == thrd_timedout, 1); \
	     DRD(AFTER))
#define WRAP_WAKE(name, kind) WRAP(name, HG(kind, 0, 0, 0); DRD(BEFORE), )

WRAP_WAIT(pthreadZucondZuZawaitZa)
WRAP_WAIT(cndZuZawaitZa)
WRAP_WAKE(pthreadZucondZusignalZa, SIGNAL_PRE)
WRAP_WAKE(pthreadZucondZubroadcastZa, BROADCAST_PRE)
WRAP(pthreadZucondZudestroyZa, HG(DESTROY_PRE, 1, 0, 0), )
WRAP(pthreadZucancelZa, , )
#endif
