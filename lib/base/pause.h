/* SPDX-License-Identifier: MIT */
/* Waiting for what nobody announces: the end of another thread's last steps. */
#ifndef DROVER_PAUSE_H
#define DROVER_PAUSE_H

#include "base/compiler.h"

/*
 * Let other threads run, also those of lower priority: one more time, after
 * @nr_before times.
 */
COLD void thread_pause(unsigned int nr_before);

#endif /* DROVER_PAUSE_H */
