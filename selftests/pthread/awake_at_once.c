// SPDX-License-Identifier: GPL-2.0-only
#define COND_API_PTHREAD
#include "../cond/awake_at_once.c"
