// SPDX-License-Identifier: MIT
/* The slots of streams, and finding a stream by its name. */
#include "stream/slot.h"

struct stream streams[STREAM_MAX];
drover_mutex_t stream_lock = DROVER_MUTEX_INITIALIZER;
uint32_t nr_slots;
const struct backend *stream_of_tests;

int stream_captures(const struct stream *s)
{
	return s->capture ? stream_because(EBUSY, "the stream captures") : 0;
}

struct stream *stream_enter(const drover_stream_t *name)
{
	uint32_t slot = name->name[0], life = name->name[1];

	drover_mutex_lock(&stream_lock);
	if (slot < nr_slots && life & 1 &&
	    load_relaxed(&streams[slot].life) == life)
		return &streams[slot];
	drover_mutex_unlock(&stream_lock);
	stream_because(EBADF, "there is no such stream, or no longer");
	return NULL;
}
