/* SPDX-License-Identifier: MIT */
/* Waiting awake, for a while, before the sleep. */
#ifndef DROVER_LOOK_H
#define DROVER_LOOK_H

#include "base/futex.h"

/* Looks for each at the clock. */
#define LOOKS_PER_CLOCK 8

/**
 * look_for_mutex() - take a mutex if it becomes free soon
 * @word: its futex word
 * @try_lock: takes it if that is free
 * @mutex: for @try_lock
 *
 * Gives way to other threads after each look: the holder may have no CPU but
 * ours.
 *
 * Return: whether the caller has it.
 */
APART bool look_for_mutex(const futex_word *word, bool (*try_lock)(void *mutex),
			  void *mutex);

/**
 * give_way() - let another thread have the CPU
 * @now: the time in nanoseconds; updated
 * @longest: for how many it may have it
 *
 * Return: whether that went well. Who gets the CPU may keep it for a slice of the
 * scheduler's; then a thread that sleeps is better off, for it is woken.
 */
bool give_way(int64_t *now, int64_t longest);

#endif /* DROVER_LOOK_H */
