// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses that are not atomic: two accesses to one address must be ordered if
 * one of them writes. (C. Flanagan, S. Freund, "FastTrack: Efficient and
 * Precise Dynamic Race Detection", PLDI 2009.) Giving memory back counts as a
 * write.
 *
 * And the places that matter: a place matters if several threads have accessed
 * it, and one of them has written, in the schedules so far. Threads change
 * places only before a step on such a place. A search begins anew when a place
 * is first found to matter.
 */
#include "engine.h"

#define SLOTS	  4096
#define MOST_GONE 16

/* A plain object: when it was last written and read, by the threads' clocks. */
static struct cell {
	uintptr_t addr;
	unsigned int schedule;
	int writer;
	stamp wrote;
	stamp read[MAX_THREADS];
} cells[SLOTS];
static unsigned int schedule, nr_cells;

static struct gone {
	const char *at;
	size_t size;
} gone[MOST_GONE];
static int nr_gone;

void races_begin(void)
{
	schedule++;
	nr_cells = 0;
	nr_gone = 0;
}

static struct cell *cell_of(uintptr_t addr, bool make)
{
	uint64_t mixed = addr * UINT64_C(0x9e3779b97f4a7c15);
	struct cell *cell = &cells[mixed >> 52];

	while (cell->schedule == schedule && cell->addr != addr)
		if (++cell == cells + SLOTS)
			cell = cells;
	if (cell->schedule == schedule)
		return cell;
	if (!make)
		return NULL;
	if (++nr_cells > SLOTS / 2)
		fault("more than %d plain objects", SLOTS / 2);
	memset(cell, 0, sizeof(*cell));
	cell->addr = addr;
	cell->schedule = schedule;
	return cell;
}

/* Is what thread @nr did at @at ordered before the present? */
static bool is_before(int nr, stamp at)
{
	return nr == nr_of(self) || at <= self->view[nr];
}

static void race(const void *p, int other, const char *what)
{
	tell(caller_pc, "touches %s", name_of(p));
	fault("%s races with thread %d on %s", what, other, name_of(p));
}

static void check_cell(struct cell *cell, bool writes, const char *what)
{
	const void *p = (const void *)cell->addr;

	if (cell->wrote && !is_before(cell->writer, cell->wrote))
		race(p, cell->writer, what);
	for (int i = 0; writes && i < MAX_THREADS; i++)
		if (cell->read[i] && !is_before(i, cell->read[i]))
			race(p, i, what);
}

void plain_access(const void *p, size_t size, bool writes)
{
	stamp now = self->view[nr_of(self)];

	check_given_back(p);
	/* A struct may be written as a whole, and read field by field. */
	for (uintptr_t at = (uintptr_t)p; size;) {
		struct cell *cell = cell_of(at, true);
		size_t part = size > 8 ? 8 : size;

		check_cell(cell, writes, writes ? "a write" : "a read");
		if (writes) {
			cell->writer = nr_of(self);
			cell->wrote = now;
		} else {
			cell->read[nr_of(self)] = now;
		}
		at += part;
		size -= part;
	}
}

void check_given_back(const void *p)
{
	for (int i = 0; i < nr_gone; i++)
		if ((const char *)p >= gone[i].at &&
		    (const char *)p < gone[i].at + gone[i].size) {
			tell(caller_pc, "touches %s", name_of(p));
			fault("%s was given back", name_of(p));
		}
}

void give_back(void *p, size_t size)
{
	char *at = p;

	if (quiet)
		return;
	tell(__builtin_return_address(0), "gives %s back", name_of(p));
	for (size_t i = 0; i < size; i++) {
		struct cell *cell = cell_of((uintptr_t)at + i, false);

		for (int nr = 0; nr < MAX_THREADS; nr++) {
			stamp used = memory_used(at + i, nr);

			if (used && !is_before(nr, used))
				race(at + i, nr, "giving back");
		}
		if (cell)
			check_cell(cell, true, "giving back");
	}
	if (nr_gone == MOST_GONE)
		fault("more than %d objects given back", MOST_GONE);
	gone[nr_gone++] = (struct gone){ p, size };
}

/* ---- which places matter ---- */

#define UNITS 8192

static struct unit {
	uintptr_t addr;
	uint8_t users;
	bool written;
} units[UNITS];
static unsigned int nr_units;
bool memory_news;

void memory_forget(void)
{
	memset(units, 0, sizeof(units));
	nr_units = 0;
}

bool memory_contended(const void *p, bool writes)
{
	uintptr_t addr = (uintptr_t)p & ~(uintptr_t)7;
	uint64_t mixed = addr * UINT64_C(0x9e3779b97f4a7c15);
	struct unit *unit = &units[mixed >> 51];
	bool before;

	while (unit->addr && unit->addr != addr)
		if (++unit == units + UNITS)
			unit = units;
	if (!unit->addr && ++nr_units > UNITS / 2)
		fault("more than %d words", UNITS / 2);
	unit->addr = addr;
	before = unit->written && unit->users & (unit->users - 1);
	unit->users |= (uint8_t)(1u << nr_of(self));
	unit->written = unit->written || writes;
	if (before)
		return true;
	if (!unit->written || !(unit->users & (unit->users - 1)))
		return false;
	memory_news = true;
	return true;
}
