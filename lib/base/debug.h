/* SPDX-License-Identifier: MIT */
/*
 * What a caller gets wrong. The ordinary build answers what can be told without
 * cost by an errno value, and trusts the caller for the rest; a debug build
 * (-DDROVER_DEBUG) says what is wrong on standard error, and aborts. It does
 * so before anything is changed: no other waiter is concerned.
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

/* A pointer that must not be NULL, and is to be a multiple of @align. */
void debug_pointer(const void *p, size_t align, const char *what,
		   const char *call);

/* The same of a struct whose flags are at @flags; only @known make sense. */
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
