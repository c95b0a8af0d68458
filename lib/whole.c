// SPDX-License-Identifier: MIT
/*
 * The condition variable and the mutex of libdrover as one translation unit:
 * a wait or a signal goes through a dozen small functions, which cost more in
 * calls than in work unless the compiler sees them together.
 */
#include "cond/awake.c"
#include "cond/broadcast.c"
#include "cond/heir.c"
#include "cond/init.c"
#include "cond/native.c"
#include "cond/pi.c"
#include "cond/policy.c"
#include "cond/policy_force.c"
#include "cond/refused.c"
#include "cond/release.c"
#include "cond/shared.c"
#include "cond/signal.c"
#include "cond/sleep.c"
#include "cond/wait.c"
#include "base/debug.c"
#include "cond/group.c"
#include "base/lock.c"
#include "base/look.c"
#include "mutex/mutex.c"
#include "cond/waiter.c"
