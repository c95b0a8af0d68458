// SPDX-License-Identifier: GPL-2.0-only
/*
 * A schedule in words: each step with its thread, its place in the source and
 * its action, and at the end what each thread sleeps on. nm and addr2line of
 * binutils give the names.
 */
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"

#define MOST_LINES (2 * MOST_STEPS)
#define MOST_NAMES 32

const char *fault_text;
bool telling, quiet = true;

static struct line {
	unsigned int step;
	int thread;
	const void *pc;
	char text[120];
} lines[MOST_LINES];
static int nr_lines;

static struct name {
	const char *at;
	size_t size;
	const char *name;
} names[MOST_NAMES];
static int nr_names;

void report_begin(void)
{
	nr_lines = 0;
}

void fault(const char *format, ...)
{
	static char text[400];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fault_text = text;
	tell(NULL, "FAULT: %s", text);
	if (quiet && !nr_steps) {
		printf("# wrong: before the first step: %s\n", text);
		exit(1);
	}
	end_schedule();
}

void tell_it(const void *pc, const char *format, ...)
{
	struct line *line = &lines[nr_lines];
	va_list list;

	if (nr_lines == MOST_LINES)
		return;
	nr_lines++;
	line->step = nr_steps;
	line->thread = self ? nr_of(self) : -1;
	line->pc = pc ? (const char *)pc - 1 : NULL;
	va_start(list, format);
	vsnprintf(line->text, sizeof(line->text), format, list);
	va_end(list);
}

/* ---- names ---- */

void call_it(const void *p, size_t size, const char *name)
{
	for (int i = 0; i < nr_names; i++)
		if (names[i].at == p)
			return;
	if (nr_names < MOST_NAMES)
		names[nr_names++] = (struct name){ p, size, name };
}

/* The name of a static variable. The list of variables is read once. */
static bool symbol_of(const void *p, char *name, size_t size)
{
	static struct {
		uintptr_t at, end;
		char name[48];
	} symbols[256];
	static int nr = -1;
	uintptr_t at = (uintptr_t)p;
	unsigned long from, bytes;
	char command[300], symbol[48], path[200] = "";
	FILE *nm;

	if (nr < 0) {
		if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
			return false;
		snprintf(command, sizeof(command),
			 "nm -S %s 2>/dev/null | grep -i ' [bd] '", path);
		nm = popen(command, "r");
		for (nr = 0;
		     nm && nr < 256 &&
		     fscanf(nm, "%lx %lx %*c %47s", &from, &bytes, symbol) == 3;
		     nr++) {
			symbols[nr].at = from;
			symbols[nr].end = from + bytes;
			strcpy(symbols[nr].name, symbol);
		}
		if (nm)
			pclose(nm);
	}
	for (int i = 0; i < nr; i++)
		if (at >= symbols[i].at && at < symbols[i].end) {
			snprintf(name, size, "%s+%zu", symbols[i].name,
				 (size_t)(at - symbols[i].at));
			return true;
		}
	return false;
}

const char *name_of(const void *p)
{
	static char texts[4][80];
	static int turn;
	char *text = texts[turn++ % 4];
	const char *at = p;
	size_t offset;
	int page = world_page_of(p, &offset);

	for (int i = 0; i < nr_names; i++)
		if (at >= names[i].at && at < names[i].at + names[i].size) {
			snprintf(text, 80, "%s+%zu", names[i].name,
				 (size_t)(at - names[i].at));
			return text;
		}
	if (page >= 0)
		snprintf(text, 80, "%c%zu+%zu", 'A' + page, 64 - offset / 64,
			 offset % 64);
	else if (!symbol_of(p, text, 80))
		snprintf(text, 80, "%p", p);
	return text;
}

/* ---- the report ---- */

/* Ask addr2line for the places of all lines. */
static FILE *ask_places(char *file)
{
	char command[300], path[200] = "";
	int fd = mkstemp(file);
	FILE *pcs;

	if (fd < 0 || readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return NULL;
	pcs = fdopen(fd, "w");
	for (int i = 0; i < nr_lines; i++)
		fprintf(pcs, "%p\n", lines[i].pc);
	fputs("0\n", pcs);
	fclose(pcs);
	snprintf(command, sizeof(command), "addr2line -a -s -f -i -e %s <%s",
		 path, file);
	return popen(command, "r");
}

/*
 * Read the answer of addr2line for one address. It gives the address, then for
 * each function that is inlined there, the innermost first, its name and the
 * place. Keep the innermost place and the name of the function that is not
 * inlined.
 */
static void read_place(FILE *found, char *function, char *where, int size)
{
	static char next[300];
	char place[300];

	function[0] = where[0] = '\0';
	if (!next[0] && !fgets(next, sizeof(next), found))
		return;
	while (fgets(next, sizeof(next), found) && next[0] != '0') {
		snprintf(function, (size_t)size, "%.*s",
			 (int)strcspn(next, "\n"), next);
		if (!fgets(place, sizeof(place), found))
			break;
		if (!where[0])
			snprintf(where, (size_t)size, "%.*s",
				 (int)strcspn(place, " \n"), place);
	}
}

static void print_places(void)
{
	char name[] = "/tmp/explore-XXXXXX";
	char function[40] = "", where[40] = "";
	FILE *found = ask_places(name);

	for (int i = 0; i < nr_lines; i++) {
		struct line *line = &lines[i];

		if (found)
			read_place(found, function, where, sizeof(where));
		if (!line->pc)
			function[0] = where[0] = '\0';
		printf("# %4u  thread %d  %-18s %-20s %s\n", line->step,
		       line->thread, where, function, line->text);
	}
	if (found)
		pclose(found);
	unlink(name);
}

void report_print(void)
{
	print_places();
	for (struct fiber *f = fibers; f < fibers + MAX_THREADS; f++) {
		if (f->state == RUNNING)
			printf("# thread %d could run\n", nr_of(f));
		if (f->state == ASLEEP && f->asleep.joins)
			printf("# thread %d waits for the end of thread %d\n",
			       nr_of(f), nr_of(f->asleep.joins));
		else if (f->state == ASLEEP)
			printf("# thread %d sleeps on %s, which is %#x%s%s\n",
			       nr_of(f), name_of(f->asleep.word),
			       *f->asleep.word,
			       f->asleep.word == f->asleep.began ?
				       "" :
				       "; it was moved there from ",
			       f->asleep.word == f->asleep.began ?
				       "" :
				       name_of(f->asleep.began));
	}
}
