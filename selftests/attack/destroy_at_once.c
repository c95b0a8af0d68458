// SPDX-License-Identifier: GPL-2.0-only
/*
 * cond/destroy_at_once, with every futex call late: a signaller is still in its
 * call when the waiter that it woke has unmapped the condvar.
 */
#include "fake_futex.h"

__attribute__((constructor)) static void be_late(void)
{
	fake_futex_start((struct fake_futex){ .seed = 1, .late = 500 });
}

#include "../cond/destroy_at_once.c"
