// SPDX-License-Identifier: GPL-2.0-only
/* Calls are counted, and fail when they are told to. */
#include <string.h>

#include "mock.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
	char function[40];
	int after, result;
} planned;

static struct {
	const char *function;
	int nr;
} calls[64];

/* The call of @function behind @after others answers @result. */
EXPORT void mock_cuda_fail(const char *function, int after, int result)
{
	pthread_mutex_lock(&lock);
	strncpy(planned.function, function, sizeof(planned.function) - 1);
	planned.after = after;
	planned.result = result;
	pthread_mutex_unlock(&lock);
}

/* How often was it called? NULL: count anew. */
EXPORT int mock_cuda_calls(const char *function)
{
	int nr = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 64 && calls[i].function; i++)
		if (!function)
			calls[i].nr = 0;
		else if (!strcmp(calls[i].function, function))
			nr = calls[i].nr;
	pthread_mutex_unlock(&lock);
	return nr;
}

int called(const char *function)
{
	int result = SUCCESS, i = 0;

	pthread_mutex_lock(&lock);
	while (calls[i].function && strcmp(calls[i].function, function))
		i++;
	calls[i].function = function;
	calls[i].nr++;
	if (planned.result && !strcmp(planned.function, function) &&
	    planned.after-- == 0) {
		result = planned.result;
		planned.result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}
