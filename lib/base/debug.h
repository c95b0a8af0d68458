/* SPDX-License-Identifier: MIT */
/*
 * Errors of callers. If an error can be found without cost, the ordinary build
 * returns an errno value; for other errors it trusts the caller. A debug build
 * (-DDROVER_DEBUG) says on standard error what is wrong, and aborts. It does so
 * before it changes anything, so no other waiter is concerned.
 *
 * @call is the name of the function that was called, __func__.
 */
#ifndef DROVER_DEBUG_H
#define DROVER_DEBUG_H

#include <stddef.h>

/* struct cond::flags and struct mutex::flags when destroyed. */
#define DEBUG_DESTROYED 0xdead0000u

#ifdef DROVER_DEBUG
#define DEBUG_BUILD true

/*
 * Check a pointer, which must not be NULL and has to be a multiple of @align.
 */
void debug_pointer(const void *p, size_t align, const char *what,
		   const char *call);

/*
 * Check a struct in the same way, and its flags at offset @flags, which may
 * have only the bits of @known.
 */
void *debug_struct(void *p, size_t align, size_t flags, unsigned int known,
		   const char *what, const char *call);

_Noreturn void debug_wrong(const void *p, const char *what, const char *wrong,
			   const char *call);

#define debug_object(p, type, known, what)                                     \
	((type *)debug_struct(p, _Alignof(type), offsetof(type, flags), known, \
			      what, __func__))

#else
#define DEBUG_BUILD			    false
#define debug_pointer(p, align, what, call) ((void)0)
#define debug_wrong(p, what, wrong, call)   ((void)(call))
#define debug_object(p, type, known, what)  ((type *)(p))
#endif

/* A time that a caller has passed to this function, not yet checked. */
#define deadline_of(on, time)                                                  \
	(debug_pointer(time, _Alignof(struct timespec), "deadline", __func__), \
	 (struct deadline){ .clock = (on), .at = *(time) })

#endif /* DROVER_DEBUG_H */
