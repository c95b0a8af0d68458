/* SPDX-License-Identifier: MIT */
/* What the library has to tell whoever runs the program. */
#ifndef DROVER_SAY_H
#define DROVER_SAY_H

#include "base/compiler.h"

/* On standard error, in one piece; no cancellation point, as stdio would be. */
COLD __attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif /* DROVER_SAY_H */
