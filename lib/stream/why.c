// SPDX-License-Identifier: MIT
/* The sentence about the calling thread's last error. */
#include "stream/why.h"

#include <drover/stream.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char why[200] = "no error";

int stream_because(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return error;
}

const char *drover_stream_why(void)
{
	return why;
}
