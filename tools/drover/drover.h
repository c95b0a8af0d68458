/* SPDX-License-Identifier: MIT */
/* The parts of the drover command. */
#ifndef DROVER_COMMAND_H
#define DROVER_COMMAND_H

#include <stddef.h>

/* The library lies in lib/ beside the folder of the program, or in LIBDIR. */
#define DROP_IN "libdrover-pthread.so.1"

/*
 * Put the drop-in's path into @path, of @size bytes. Return: 0, or -1 if the
 * drop-in is missing; then @path says where it should be.
 */
int drop_in_path(char *path, size_t size);

/* Put the drop-in into LD_PRELOAD, before the libraries that are there. */
int drop_in_preload(const char *path);

/*
 * Become the sub-command @argv[0], which is written in Python, with its
 * arguments. Return: an exit status, if that does not work.
 */
int script(char **argv);

/*
 * Which program loads the libraries of @program. With LINKER_NONE it has no
 * libraries, and musl's loader would end it because of the drop-in. A file that
 * is not a program is LINKER_OTHER: exec() refuses it.
 */
enum linker {
	LINKER_OTHER,
	LINKER_NONE,
	LINKER_FOREIGN,	   /* for another machine */
	LINKER_PRIVILEGED, /* loads nothing that a user asks for */
	LINKER_MUSL
};

enum linker linker_of(const char *program);

/* Print what the C library, the drop-in and the kernel can do. */
int info(void);

/* Exit statuses other than those of the program that is run. */
enum {
	EXIT_USAGE = 2,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/*
 * Called in a process that info() starts with the drop-in. Return: 0 if the
 * drop-in has taken effect in it.
 */
int info_drop_in(void);

#endif
