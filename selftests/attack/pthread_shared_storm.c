// SPDX-License-Identifier: GPL-2.0-only
/* The same between processes, on the drop-in. */
#define COND_API_PTHREAD
#define STORM_SHARED true
#include "storm.c"
