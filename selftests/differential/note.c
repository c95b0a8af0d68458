// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happened, line by line: shown, or condensed to a number.
 */
#include <stdarg.h>

#include "calls.h"

static uint64_t digest;
static bool shown;

uint64_t counts[NR_COUNTS];

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("calls: ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	exit(1);
}

void note_show(bool show)
{
	shown = show;
}

void note(const char *fmt, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (int i = 0; i < len; i++)
		digest = (digest ^ line[i]) * UINT64_C(0x100000001b3);
	if (shown)
		puts(line);
}

/* Of all that was noted since the last call. */
uint64_t note_digest(void)
{
	uint64_t was = digest;

	digest = UINT64_C(0xcbf29ce484222325);
	return was;
}
