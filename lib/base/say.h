/* SPDX-License-Identifier: MIT */
/* Messages of the library to the user of the program, on standard error. */
#ifndef DROVER_SAY_H
#define DROVER_SAY_H

#include "base/compiler.h"

/* On standard error, in one piece; no cancellation point, as stdio would be. */
COLD __attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif /* DROVER_SAY_H */
