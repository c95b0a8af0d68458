/* SPDX-License-Identifier: MIT */
/*
 * Waits for an event that no thread announces: the end of another thread's last
 * steps.
 */
#ifndef DROVER_PAUSE_H
#define DROVER_PAUSE_H

#include "base/compiler.h"

/*
 * Let other threads run, also those of lower priority. @nr_before: how many
 * times the caller has done so in this wait.
 */
COLD void thread_pause(unsigned int nr_before);

#endif /* DROVER_PAUSE_H */
