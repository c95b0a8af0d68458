// SPDX-License-Identifier: MIT
/* Which dynamic linker a program asks for. */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drover.h"

/* As execvp() finds it. */
static FILE *open_program(const char *name)
{
	char path[PATH_MAX], *rest, *folder, *folders;
	FILE *file = NULL;

	if (strchr(name, '/'))
		return fopen(name, "rb");
	folders = rest = strdup(getenv("PATH") ?: "/bin:/usr/bin");
	while (!file && rest && (folder = strsep(&rest, ":"))) {
		snprintf(path, sizeof(path), "%s/%s", *folder ? folder : ".",
			 name);
		if (access(path, X_OK) == 0)
			file = fopen(path, "rb");
	}
	free(folders);
	return file;
}

/* Put the name of its dynamic linker into @name; 0, or -1 if it has none. */
static int read_linker(FILE *file, char *name, size_t size)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (fread(&head, sizeof(head), 1, file) != 1 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return -1;
	fseek(file, (long)head.e_phoff, SEEK_SET);
	for (int i = 0; i < head.e_phnum; i++) {
		if (fread(&part, sizeof(part), 1, file) != 1)
			return -1;
		if (part.p_type != PT_INTERP)
			continue;
		fseek(file, (long)part.p_offset, SEEK_SET);
		return fgets(name, (int)size, file) ? 0 : -1;
	}
	return -1;
}

bool uses_musl(const char *program)
{
	FILE *file = open_program(program);
	char name[PATH_MAX];
	bool found = false;

	if (!file)
		return false;
	if (read_linker(file, name, sizeof(name)) == 0)
		found = strstr(name, "/ld-musl-");
	fclose(file);
	return found;
}
