/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * words.h - describes a futex word of the library, for the report of stuck.h
 *
 * Only this header of the tests knows the state of a group, which is part of no
 * API. A word is described by the object to which it belongs: a mutex or
 * condvar that the test has named, or a group of such a condvar.
 */
#pragma once

#include "cond/group.h"

#include "api.h"
#include "stuck.h"

#define WORDS_KNOWN 32

static struct {
	const api_cond_t *conds[WORDS_KNOWN];
	const api_mutex_t *mutexes[WORDS_KNOWN];
} words_known;

static inline void words_know(const void **list, const void *object)
{
	int i = 0;

	while (i < WORDS_KNOWN - 1 && list[i] && list[i] != object)
		i++;
	list[i] = object;
}

static const struct {
	uint64_t bit;
	const char *name;
} words_group_bits[] = {
	{ GROUP_RELEASED, "released" },
	{ GROUP_MOVED, "moved" },
	{ GROUP_NO_SLEEPERS, "no sleepers" },
};

static inline void words_group_text(const struct group *g, char *text,
				    size_t size)
{
	uint64_t state = g->state;
	size_t len;

	snprintf(
		text, size,
		"a group of the condvar %p: blocked=%u tokens=%u references=%u",
		(void *)g->owner, group_nr_blocked(state),
		(unsigned int)((state & GROUP_TOKENS) / GROUP_TOKEN), g->refs);
	for (int i = 0; i < NR_OF(words_group_bits); i++) {
		len = strlen(text);
		if (state & words_group_bits[i].bit)
			snprintf(text + len, size - len, ", %s",
				 words_group_bits[i].name);
	}
	len = strlen(text);
	if (g->mutex)
		snprintf(text + len, size - len, "; mutex %p",
			 (void *)g->mutex);
}

/* The memory around a word shows whether it is a group's. */
static inline bool words_is_group(const struct group *g, uint64_t at)
{
	if (at % ARENA_ITEM || !g->owner || !g->refs)
		return false;
	for (int i = 0; i < WORDS_KNOWN; i++)
		if ((void *)g->owner == words_known.conds[i] ||
		    (g->mutex && g->mutex == words_known.mutexes[i]))
			return true;
	return false;
}

static inline void words_mutex_text(uint32_t word, char *text, size_t size)
{
	static const char *const states[] = { "free", "held", "contended" };

	if (word <= LOCK_CONTENDED)
		snprintf(text, size, "a mutex, %s", states[word]);
	else
		snprintf(text, size, "a mutex that thread %u has%s",
			 word & FUTEX_TID_MASK,
			 word & FUTEX_WAITERS ? ", contended" : "");
}

static void words_describe(const struct stuck_word *word, char *text,
			   size_t size)
{
	uint64_t half = (uintptr_t)LOW_HALF(&((struct group *)NULL)->state);
	uint32_t value;
	struct group g;

	if (!stuck_read(word->pid, word->at, &value, sizeof(value)))
		return;
	for (int i = 0; i < WORDS_KNOWN; i++) {
		const api_mutex_t *mutex = words_known.mutexes[i];
		const api_cond_t *cond = words_known.conds[i];

		if (mutex && api_mutex_has(mutex, (void *)word->at))
			return words_mutex_text(value, text, size);
		if (cond && word->at - (uintptr_t)cond < sizeof(*cond)) {
			snprintf(text, size, "in the condvar %p: %#x",
				 (void *)cond, value);
			return;
		}
	}
	if (stuck_read(word->pid, word->at - half, &g, sizeof(g)) &&
	    words_is_group(&g, word->at - half))
		words_group_text(&g, text, size);
}

/* Both APIs sleep on the first word of a mutex. */
static uint64_t words_mutex(int nr)
{
	return nr < WORDS_KNOWN ? (uintptr_t)words_known.mutexes[nr] : 0;
}

__attribute__((constructor)) static void words_start(void)
{
	stuck.describe = words_describe;
	stuck.mutex = words_mutex;
}

/* words_forget - forget all objects: for a test whose condvars come and go */
static inline void words_forget(void)
{
	memset(&words_known, 0, sizeof(words_known));
}

/* words_of - make this condvar and this mutex known */
static inline void words_of(const api_cond_t *cond, const api_mutex_t *mutex)
{
	words_know((const void **)words_known.conds, cond);
	words_know((const void **)words_known.mutexes, mutex);
}
