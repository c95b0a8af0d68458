/* SPDX-License-Identifier: MIT */
/*
 * Events that can be seen from outside. A probe is an instruction that does
 * nothing until a tracer puts a breakpoint there; without <sys/sdt.h> there is
 * none. Events that `drover stat` cannot count by itself are also told to
 * drover_probe(), if a loaded library has that function.
 */
#ifndef DROVER_PROBE_H
#define DROVER_PROBE_H

#include <stdint.h>

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define PROBE(name, a, b) DTRACE_PROBE2(drover, name, a, b)
#else
#define PROBE(name, a, b) ((void)0)
#endif

enum probe_event {
	PROBE_MOVED, /* nr waiters of a condvar were moved */
	PROBE_SPUN,  /* the caller polled; nr 1: that spared a sleep */
};

extern void drover_probe(enum probe_event event, const void *cond, int64_t nr)
	__attribute__((weak, visibility("default")));

/*
 * A requeue by @cond has returned @ret, which includes @nr_woken woken threads.
 */
#define PROBE_REQUEUE(cond, ret, nr_woken)                                   \
	do {                                                                 \
		if (ret < 0)                                                 \
			PROBE(fallback, cond, ret);                          \
		else                                                         \
			PROBE(move, cond, ret - (nr_woken));                 \
		if (__builtin_expect(!!drover_probe, 0) && ret > (nr_woken)) \
			drover_probe(PROBE_MOVED, cond, ret - (nr_woken));   \
	} while (0)

#endif /* DROVER_PROBE_H */
