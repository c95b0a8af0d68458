// SPDX-License-Identifier: GPL-2.0-only
/* The same on the drop-in, with all kinds of mutexes and with cancellations. */
#define COND_API_PTHREAD
#include "storm.c"
