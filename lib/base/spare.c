// SPDX-License-Identifier: MIT
/* One spare for each thread that has waited, and a list of more. */
#include "base/free_list.h"
#include "base/spare.h"

_Static_assert(SPARE_BYTES == LINE_BYTES, "a line each");

void *spare_get(struct waiter *w)
{
	void *spare = w->spare;

	w->spare = NULL;
	return likely(spare) ? spare : free_list_get(&free_groups);
}

void spare_put(struct waiter *w, void *spare)
{
	if (likely(w && !w->spare))
		w->spare = spare;
	else
		free_list_put(&free_groups, spare);
}
