/* SPDX-License-Identifier: MIT */
/*
 * What a caller gets wrong. The ordinary build answers what can be told without
 * cost by an errno value, and trusts the caller for the rest; a debug build
 * (CONFIG_LIB_DEBUG) says what is wrong on standard error, and aborts. It does
 * so before anything is changed: no other waiter is concerned.
 *
 * @call is the name of the function that was called, __func__.
 */
#ifndef DROVER_DEBUG_H
#define DROVER_DEBUG_H

#include <stddef.h>

#ifdef DROVER_DEBUG

/* struct cond::flags and struct mutex::flags when destroyed. */
#define DEBUG_DESTROYED 0xdead0000u

/* A pointer that must not be NULL, and is to be a multiple of @align. */
void debug_pointer(const void *p, size_t align, const char *what,
		   const char *call);

/* @flags of what lies at @p, of which only @known make sense. */
void debug_flags(const void *p, unsigned int flags, unsigned int known,
		 const char *what, const char *call);

_Noreturn void debug_wrong(const void *p, const char *what, const char *wrong,
			   const char *call);

#else

static inline void debug_pointer(const void *p, size_t align, const char *what,
				 const char *call)
{
	(void)p;
	(void)align;
	(void)what;
	(void)call;
}

static inline void debug_flags(const void *p, unsigned int flags,
			       unsigned int known, const char *what,
			       const char *call)
{
	(void)p;
	(void)flags;
	(void)known;
	(void)what;
	(void)call;
}

#endif

#endif /* DROVER_DEBUG_H */
