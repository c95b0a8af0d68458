// SPDX-License-Identifier: MIT
/* Finds the place in the program that a call comes from. */
#include <string.h>
#include <unwind.h>

#include "interpose.h"

#define PROBES 16

/**
 * struct walk - a walk over the stack, from the newest call to the oldest
 * @caller: the return address of the first frame that counts
 * @begun: whether the walk has come to that frame
 * @nr: how many of @frames were found
 */
struct walk {
	struct counts_file *file;
	uint64_t caller;
	bool begun;
	int nr;
	uint64_t frames[NR_FRAMES];
};

/* The C++ library calls the C library on behalf of the program. */
static bool is_in_cxx_library(struct counts_file *file, uint64_t address)
{
	const struct module *m = module_of(file, address);

	return m && (strstr(m->path, "/libstdc++.so") ||
		     strstr(m->path, "/libc++.so"));
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	uint64_t address = _Unwind_GetIP(context);

	walk->begun = walk->begun || address == walk->caller;
	if (walk->begun && address &&
	    (walk->nr || !is_in_cxx_library(walk->file, address)))
		walk->frames[walk->nr++] = address;
	return walk->nr < NR_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static struct stack *find(struct counts_file *file, uint64_t first,
			  bool *is_new)
{
	uint32_t at = slot_first(first) % NR_STACKS;

	for (int i = 0; i < PROBES; i++, at = (at + 1) % NR_STACKS)
		if (is_there(&file->stacks[at].frames[0], first, is_new))
			return &file->stacks[at];
	return NULL;
}

/*
 * A walk takes some microseconds. There is one for each caller; if the caller
 * is the C++ library, there is one for each call, as its callers differ.
 */
__attribute__((cold)) uint64_t site_of(struct counts_file *file,
				       uint64_t caller)
{
	struct walk walk = { .file = file, .caller = caller };
	bool is_new, is_cxx = is_in_cxx_library(file, caller);
	struct stack *place;

	if (!is_cxx && (!(place = find(file, caller, &is_new)) || !is_new))
		return caller;
	_Unwind_Backtrace(step, &walk);
	if (!walk.nr)
		return caller;
	if (is_cxx)
		place = find(file, walk.frames[0], &is_new);
	for (int i = 1; place && is_new && i < walk.nr; i++) {
		atomic_store(&place->frames[i], walk.frames[i]);
		module_of(file, walk.frames[i]);
	}
	return walk.frames[0];
}
