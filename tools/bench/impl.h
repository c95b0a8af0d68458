/* SPDX-License-Identifier: MIT */
/*
 * The mutex and the condition variable that a suite is compiled for, under
 * names of its own:
 *
 *	struct impl_mutex, struct impl_cond
 *	impl_mutex_init() _destroy() _lock() _unlock()
 *	impl_cond_init() _destroy() _wait() _signal() _broadcast()
 *	impl_cond_timedwait(), true if the deadline has passed; CLOCK_REALTIME
 *	impl_has_await(), true if there is impl_cond_await(): a wait with a
 *		predicate that other threads may evaluate
 *	impl, a struct bench_impl
 *
 * All are inline, and end the process if the implementation returns an error,
 * since no call of a suite may fail. The Makefile compiles each suite once for
 * every name in its list, with IMPL_<name> defined.
 */
#ifndef BENCH_IMPL_H
#define BENCH_IMPL_H

#if defined(IMPL_pthread)
#include "impl_pthread.h"
#elif defined(IMPL_drover)
#include "impl_drover.h"
#elif defined(IMPL_peer)
#include "impl_peer.h"
#else
#error "compile a suite with -DIMPL_<name>, see tools/Makefile"
#endif

#endif
