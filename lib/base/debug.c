// SPDX-License-Identifier: MIT
/* The messages of a debug build. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/debug.h"
#include "base/say.h"

#ifdef DROVER_DEBUG

_Noreturn void debug_wrong(const void *p, const char *what, const char *wrong,
			   const char *call)
{
	static const char drop_in[] = "drop_in_";
	bool native = strncmp(call, drop_in, sizeof(drop_in) - 1) != 0;

	say("drover: %s%s(): %s %p %s\n", native ? "" : "pthread_",
	    native ? call : call + sizeof(drop_in) - 1, what, p, wrong);
	abort();
}

void debug_pointer(const void *p, size_t align, const char *what,
		   const char *call)
{
	if (!p)
		debug_wrong(p, what, "is NULL: pass its address", call);
	if ((uintptr_t)p % align)
		debug_wrong(p, what,
			    "is not aligned: do not put it into packed memory",
			    call);
}

void *debug_struct(void *p, size_t align, size_t flags_at, unsigned int known,
		   const char *what, const char *call)
{
	unsigned int flags;

	debug_pointer(p, align, what, call);
	flags = load_relaxed((_Atomic uint32_t *)((char *)p + flags_at));
	if (flags == DEBUG_DESTROYED)
		debug_wrong(
			p, what,
			"was destroyed: initialise it before it is used again",
			call);
	if (flags & ~known)
		debug_wrong(p, what, "was never initialised, or is overwritten",
			    call);
	return p;
}

#endif
