/* SPDX-License-Identifier: GPL-2.0-only */
/* scenarios.h - the lists of scenarios, one for each file */
#pragma once

#include "explore.h"
#include "ledger.h"

extern const struct scenario cond_scenarios[];
extern const int nr_cond_scenarios;
extern const struct scenario await_scenarios[];
extern const int nr_await_scenarios;
extern const struct scenario fork_scenarios[];
extern const int nr_fork_scenarios;
extern const struct scenario barrier_scenarios[];
extern const int nr_barrier_scenarios;
extern const struct scenario pool_scenarios[];
extern const int nr_pool_scenarios;
extern const struct scenario kind_scenarios[];
extern const int nr_kind_scenarios;
