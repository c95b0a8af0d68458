// SPDX-License-Identifier: MIT
/* The drop-in as one translation unit: compiler.h. */
#define DROVER_DROP_IN
#include "../whole.c"

#include "pthread/cond.c"
#include "pthread/glibc_mutex.c"
#include "pthread/valgrind.c"
