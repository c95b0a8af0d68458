// SPDX-License-Identifier: MIT
/* The condition variable and the mutex as one translation unit: compiler.h. */
#include "base/arena.c"
#include "base/debug.c"
#include "base/fork.c"
#include "base/lock.c"
#include "base/pause.c"
#include "base/poll.c"
#include "base/say.c"
#include "base/thread.c"
#include "base/waiter.c"
#include "base/waiter_setup.c"
#include "cond/cancel.c"
#include "cond/foreign.c"
#include "cond/group.c"
#include "cond/init.c"
#include "cond/load.c"
#include "cond/pi.c"
#include "cond/policy.c"
#include "cond/shared.c"
#include "cond/wait.c"
#include "cond/wake.c"

#ifndef DROVER_DROP_IN
#include "mutex/mutex.c"
#include "mutex/user_mutex.c"
#include "cond/await.c"
#include "cond/native.c"
#endif
