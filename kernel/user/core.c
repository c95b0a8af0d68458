// SPDX-License-Identifier: GPL-2.0-only
/* What core.c and pi.c have that both movers call. */
#include <linux/plist.h>

#include "futex.h"

struct task_struct *current;

/* A futex is a word. */
int get_futex_key(u32 *uaddr, unsigned int flags, union futex_key *key,
		  enum futex_access rw)
{
	key->both.ptr = 1 + flags + rw;
	key->both.word = (unsigned long)uaddr;
	key->both.offset = 0;
	return 0;
}

int futex_get_value_locked(u32 *dest, u32 *from)
{
	*dest = *from;
	return 0;
}

/* Mainline calls it with NULL at the end of every requeue. */
void put_pi_state(struct futex_pi_state *pi_state)
{
	if (pi_state)
		abort();
}
