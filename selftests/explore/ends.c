// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread ends in the middle: by an exception, or because its process is
 * killed.
 */
#include <stdlib.h>
#include <unwind.h>

#include "engine.h"

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions,
				_Unwind_Exception_Class class,
				struct _Unwind_Exception *exception,
				struct _Unwind_Context *context, void *arg)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)arg;
	if (actions & _UA_END_OF_STACK ||
	    (char *)_Unwind_GetCFA(context) > self->top)
		_longjmp(self->exit, 1);
	return _URC_NO_REASON;
}

void fiber_exit(void)
{
	/* Static, because it is used while this function's frame is unwound. */
	static struct _Unwind_Exception of[MAX_THREADS];
	struct _Unwind_Exception *exception = &of[nr_of(self)];

	memset(exception, 0, sizeof(*exception));
	_Unwind_ForcedUnwind(exception, stop, NULL);
	abort();
}

static struct {
	const char *at;
	size_t size;
	const uint32_t *owner;
} mortal;

void dies_at(const void *p, size_t size, const uint32_t *owner)
{
	mortal.at = p;
	mortal.size = size;
	mortal.owner = owner;
}

bool fiber_may_die(const struct fiber *f)
{
	if (!(scenario->flags & DIES) || f != fibers || f == self ||
	    *mortal.owner == FIRST_TID)
		return false;
	if (f->state == ASLEEP)
		return (size_t)((char *)f->asleep.word - mortal.at) <
		       mortal.size;
	return f->state == RUNNING && (size_t)(f->at - mortal.at) < mortal.size;
}
