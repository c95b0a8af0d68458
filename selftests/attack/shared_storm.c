// SPDX-License-Identifier: GPL-2.0-only
/* The same between processes. */
#define STORM_SHARED true
#include "storm.c"
