// SPDX-License-Identifier: MIT
/* Shows that a preloaded library replaces libc's function in a guest. */

#include <unistd.h>

uid_t getuid(void)
{
	return 4242;
}
