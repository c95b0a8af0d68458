// SPDX-License-Identifier: GPL-2.0-only
/* The same on the drop-in. */
#define COND_API_PTHREAD
#include "polled.c"
