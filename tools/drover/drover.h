/* SPDX-License-Identifier: MIT */
/* The parts of the drover command. */
#ifndef DROVER_COMMAND_H
#define DROVER_COMMAND_H

#include <stddef.h>

/* In lib/ beside the folder of the program, or in LIBDIR. */
#define DROP_IN "libdrover-pthread.so.1"

/*
 * Put the drop-in's path into @path, of @size bytes. 0, or -1 if it is not
 * where it belongs; @path says then where that would be.
 */
int drop_in_path(char *path, size_t size);

/* Put the drop-in, and what was to be loaded before, into LD_PRELOAD. */
int drop_in_preload(const char *path);

/*
 * Become the sub-command @argv[0], which is written in Python, with its
 * arguments. Return: an exit status, if that does not work.
 */
int script(char **argv);

/*
 * What loads the libraries of a program: nothing if it is linked statically,
 * and musl's would end it with the drop-in. What is no program exec() refuses.
 */
enum linker {
	LINKER_OTHER,
	LINKER_NONE,
	LINKER_FOREIGN,	   /* for another machine */
	LINKER_PRIVILEGED, /* loads nothing that a user asks for */
	LINKER_MUSL
};

enum linker linker_of(const char *program);

/* What the C library, the drop-in and the kernel can do, on stdout. */
int info(void);

/* Exit statuses beside a program's own. */
enum {
	EXIT_USAGE = 2,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/* For info(), which starts it with the drop-in: 0 if that is in place. */
int info_drop_in(void);

#endif
