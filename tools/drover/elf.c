// SPDX-License-Identifier: MIT
/* Which dynamic linker a program asks for. */
#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "drover.h"

/* Open the file that execvp() would run. */
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

/* The ELF header of this program; the static linker defines the symbol. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* Root has all capabilities already, so a file's add none. */
static bool gains_privileges(FILE *file)
{
	struct stat found;
	int fd = fileno(file);

	return fstat(fd, &found) == 0 &&
	       ((found.st_mode & S_ISUID && found.st_uid != getuid()) ||
		(found.st_mode & S_ISGID && found.st_gid != getgid()) ||
		(getuid() &&
		 fgetxattr(fd, "security.capability", NULL, 0) > 0));
}

static enum linker read_linker(FILE *file)
{
	char name[PATH_MAX];
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (fread(&head, sizeof(head), 1, file) != 1 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return LINKER_OTHER;
	if (head.e_machine != __ehdr_start.e_machine)
		return LINKER_FOREIGN;
	fseek(file, (long)head.e_phoff, SEEK_SET);
	for (int i = 0; i < head.e_phnum; i++) {
		if (fread(&part, sizeof(part), 1, file) != 1)
			return LINKER_OTHER;
		if (part.p_type != PT_INTERP)
			continue;
		fseek(file, (long)part.p_offset, SEEK_SET);
		if (fgets(name, sizeof(name), file) &&
		    strstr(name, "/ld-musl-"))
			return LINKER_MUSL;
		return gains_privileges(file) ? LINKER_PRIVILEGED :
						LINKER_OTHER;
	}
	return LINKER_NONE;
}

enum linker linker_of(const char *program)
{
	FILE *file = open_program(program);
	enum linker found = LINKER_OTHER;

	if (!file)
		return found;
	found = read_linker(file);
	fclose(file);
	return found;
}
