// SPDX-License-Identifier: MIT
/*
 * The condition variable and the mutex of libdrover as one translation unit:
 * a wait or a signal goes through a dozen small functions, which cost more in
 * calls than in work unless the compiler sees them together.
 */
#include "cond_awake.c"
#include "cond_broadcast.c"
#include "cond_heir.c"
#include "cond_init.c"
#include "cond_native.c"
#include "cond_pi.c"
#include "cond_policy.c"
#include "cond_policy_force.c"
#include "cond_refused.c"
#include "cond_release.c"
#include "cond_shared.c"
#include "cond_signal.c"
#include "cond_sleep.c"
#include "cond_wait.c"
#include "debug.c"
#include "group.c"
#include "lock.c"
#include "look.c"
#include "mutex.c"
#include "waiter.c"
