// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory with which each schedule begins: the static variables of the
 * library and of the scenarios (the Makefile gathers them in two sections),
 * thread-local variables, the pages of the arenas, and a heap.
 */
#include <stdlib.h>

#include "engine.h"

#define NR_PAGES   8
#define PAGE	   4096
#define HEAP_BYTES (256 * 1024)

extern char __start_lib_data[], __stop_lib_data[];
extern char __start_lib_bss[], __stop_lib_bss[];

static char pages[NR_PAGES][PAGE] __attribute__((aligned(PAGE)));
static char heap[HEAP_BYTES] __attribute__((aligned(128)));
static int nr_pages, nr_pages_saved;
static size_t heap_used, heap_saved;
static int64_t clock_saved;

/* A part of the memory, and its saved contents. */
static struct part {
	char *at;
	size_t size;
	char *saved;
} parts[4 + MAX_THREADS];
static int nr_parts;
/* Saved: the threads that were started, and their values of the key. */
static struct {
	enum fiber_state state;
	void *(*main)(void *arg);
	void *arg;
	void *key;
} threads[MAX_THREADS];

static void part_save(char *at, size_t size)
{
	struct part *part = &parts[nr_parts++];

	*part = (struct part){ at, size, malloc(size + 1) };
	memcpy(part->saved, at, size);
}

void world_save(void)
{
	nr_parts = 0;
	part_save(__start_lib_data,
		  (size_t)(__stop_lib_data - __start_lib_data));
	part_save(__start_lib_bss, (size_t)(__stop_lib_bss - __start_lib_bss));
	part_save(pages[0], (size_t)nr_pages * PAGE);
	part_save(heap, heap_used);
	nr_pages_saved = nr_pages;
	heap_saved = heap_used;
	clock_saved = clock_ns;
	for (int i = 0; i < MAX_THREADS; i++) {
		part_save(fibers[i].tls, fiber_tls_bytes());
		threads[i].state = fibers[i].state;
		threads[i].main = fibers[i].main;
		threads[i].arg = fibers[i].arg;
		threads[i].key = fibers[i].key;
	}
}

void world_restore(void)
{
	for (int i = 0; i < nr_parts; i++)
		memcpy(parts[i].at, parts[i].saved, parts[i].size);
	nr_pages = nr_pages_saved;
	heap_used = heap_saved;
	clock_ns = clock_saved;
	for (int i = 0; i < MAX_THREADS; i++) {
		struct fiber *f = &fibers[i];

		f->state = threads[i].state;
		f->main = threads[i].main;
		f->arg = threads[i].arg;
		f->key = threads[i].key;
		f->cancelled = false;
		f->nr_stays = 0;
		f->waits = false;
		memset(f->view, 0, sizeof(f->view));
		f->view[i] = 1;
		memset(&f->asleep, 0, sizeof(f->asleep));
	}
}

void *world_page(void)
{
	if (nr_pages == NR_PAGES)
		return NULL;
	memset(pages[nr_pages], 0, PAGE);
	return pages[nr_pages++];
}

int world_page_of(const void *p, size_t *at)
{
	const char *byte = p;

	if (byte < pages[0] || byte >= pages[nr_pages])
		return -1;
	*at = (size_t)(byte - pages[0]) % PAGE;
	return (int)((byte - pages[0]) / PAGE);
}

void *world_alloc(size_t align, size_t size)
{
	size_t at = (heap_used + align - 1) / align * align;

	if (at + size > HEAP_BYTES)
		fault("the heap is too small");
	heap_used = at + size;
	return heap + at;
}
