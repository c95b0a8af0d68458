// SPDX-License-Identifier: MIT
/* Messages of the library. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/say.h"

void say(const char *format, ...)
{
	char text[512];
	int saved = errno, len;
	va_list args;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = MIN(len, (int)sizeof(text) - 1);
	/* One call, because other threads may write, too. */
	syscall(SYS_write, STDERR_FILENO, text, len);
	errno = saved;
}
