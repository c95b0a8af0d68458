/* SPDX-License-Identifier: MIT */
/* The parts of the drover command. */
#ifndef DROVER_COMMAND_H
#define DROVER_COMMAND_H

#include <stddef.h>

/* Where the drop-in is, seen from the folder above the program's own. */
#define DROP_IN "lib/libdrover-pthread.so.1"

/*
 * Put the drop-in's path into @path, of @size bytes. 0, or -1 if it is not
 * where it belongs; @path says then where that would be.
 */
int drop_in_path(char *path, size_t size);

/* Put the drop-in, and what was to be loaded before, into LD_PRELOAD. */
int drop_in_preload(const char *path);

/* What the C library, the drop-in and the kernel can do, on stdout. */
int info(void);

/* For info(), which starts it with the drop-in: 0 if that is in place. */
int info_drop_in(void);

#endif
