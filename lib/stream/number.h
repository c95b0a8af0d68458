/* SPDX-License-Identifier: MIT */
/*
 * number.h - numbers that only grow, and waits for them
 *
 * Each operation of a stream has a number. Numbers begin with 1, and when a
 * slot is used for another stream it goes on counting. So a wait for operation
 * N is always a wait until a number is N or more.
 */
#ifndef DROVER_STREAM_NUMBER_H
#define DROVER_STREAM_NUMBER_H

#include "base/atomic.h"
#include "base/futex.h"

#define NUMBER_MAX ((UINT64_C(1) << 48) - 1)

struct number {
	_Atomic uint64_t at; /* the low half is a futex word */
	/*
	 * How many sleep << 48 | NUMBER_MAX - the lowest number they wait for
	 */
	_Atomic uint64_t sleepers;
};

void number_raise(struct number *n, uint64_t to);
/* Wait until @n is @wanted or more: 0 or ETIMEDOUT. */
int number_wait(struct number *n, uint64_t wanted,
		const struct deadline *deadline);

#endif /* DROVER_STREAM_NUMBER_H */
