// SPDX-License-Identifier: MIT
/* The program's calls of the debug build's checker. */
#include <errno.h>

#include "stream/observer.h"
#include "stream/why.h"

int drover_stream_note(const drover_access_t *accesses, size_t nr_accesses)
{
	struct footprint f = { .accesses = accesses,
			       .nr = nr_accesses,
			       .anything = !accesses };

	OBSERVE(host_touches, f, __builtin_return_address(0));
	return 0;
}

int drover_stream_watch_races(void (*report)(const char *text, void *arg),
			      void *arg)
{
	if (!HAS_OBSERVER)
		return stream_because(ENOTSUP,
				      "the library is not a debug build");
	OBSERVE(report_to, report, arg);
	return 0;
}
