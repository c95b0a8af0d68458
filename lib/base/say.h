/* SPDX-License-Identifier: MIT */
/* Messages of the library to the user of the program, on standard error. */
#ifndef DROVER_SAY_H
#define DROVER_SAY_H

#include "base/compiler.h"

/* Print in one piece. It is no cancellation point, which stdio would be. */
COLD __attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif /* DROVER_SAY_H */
