/* SPDX-License-Identifier: GPL-2.0-only */
/* waits.h - what scenarios of the condition variable and of mutexes share */
#pragma once

#include <drover/cond.h>

#include "scenarios.h"

extern drover_mutex_t mutex;
extern drover_cond_t cond, other;
extern struct ledger ledger, other_ledger;
/* Guarded by the mutex. */
extern int guarded;
/* Several processes use the condvar; then a broadcast names the mutex. */
extern bool is_shared;
/* How many threads still need the condvar. */
extern int nr_left;

void lock_it(void);
void unlock_it(void);

/* Wait once on @c, unless there is credit; if @timed, until a deadline. */
int wait_on(drover_cond_t *c, struct ledger *l, bool timed);
void wait_once(bool timed);

/* Signal if @nr is 1. Otherwise broadcast to @nr threads that wait, or will. */
void wake_on(drover_cond_t *c, struct ledger *l, int nr, bool held);
#define wake(nr, held) wake_on(&cond, &ledger, nr, held)

void destroy_cond(void);
/* The last thread that leaves destroys the condvar and the mutex. */
void leave_and_destroy(void);

void setup_plain(void);
void ledgers_closed(void);

/* cond.c: functions that the threads of scenarios run. */
void do_two_signals(int me);
void do_two_held_signals(int me);
void do_two_signallers(int me);
void do_broadcast(int me);
void do_two_groups(int me);
void do_timeout(int me);
void do_again(int me);
void do_again_by_signals(int me);
void do_chain(int me);
void do_destroy(int me);
void do_destroy_at_once(int me);
void do_cancel(int me);
void do_cancel_and_signal(int me);
void do_end(int me);

#define POLICIES "auto,spin=0 requeue wake-all auto auto,1cpu"
