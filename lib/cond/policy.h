/* SPDX-License-Identifier: MIT */
/* What of the policy can be forced; cond_policy.c has the policy itself. */
#ifndef DROVER_COND_POLICY_H
#define DROVER_COND_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum base {
	BASE_AUTO,
	BASE_REQUEUE,
	BASE_WAKE_ALL,
};

enum hope {
	HOPE_LEARNED,
	HOPE_ALWAYS,
	HOPE_NEVER,
};

/**
 * struct policy - what DROVER_POLICY can force
 * @base: whether to move: always, never, or when it pays
 * @single: whether to wake a single thread though the caller has the mutex
 * @herd: whether several threads that take turns shall be awake at once
 * @batch: learn from signals to nobody, too
 * @cpus: how many the process may use
 * @awake: how many of them at most; 0: by how many they are
 * @watch_us: for how many microseconds a thread looks for its signal
 * @watch_once: whether it looks once after it gave way, where others want the CPU
 *		or @watch_us is 0
 * @await_us: for how many it does when it has released several and its CPU would
 *	      be idle
 * @stay: whether those that are called together again and again give way before
 *	  they sleep
 * @relay_over: with more threads than this that wait now and then, signals to
 *		several are handed on by those that they are for; RELAY_NEVER
 * @call_us: for how many such a thread does that another one has called
 * @looks: how often a thread looks at a held mutex before it sleeps
 * @look_us: for how many microseconds each time
 */
struct policy {
	enum base base;
	enum hope single;
	enum hope herd;
	bool batch;
	unsigned int cpus;
	unsigned int awake;
	unsigned int watch_us;
	bool watch_once;
	unsigned int await_us;
	enum hope stay;
	uint32_t relay_over;
	unsigned int call_us;
	unsigned int looks;
	unsigned int look_us;
};

/* A thread looks at a held mutex so often, and others may go first after each. */
#define LOOKS 2

/* So many threads there are never. */
#define RELAY_NEVER UINT32_MAX

/* How many can be awake at once at most: one and, in a byte, @ahead. */
#define MOST_AWAKE 255

/* Said of what policy_force() does not understand. */
#define POLICY_HELP                                                        \
	"auto, requeue or wake-all, and perhaps more words after commas: " \
	"see drover(7)"

/**
 * policy_force() - change a policy as DROVER_POLICY may ask; cond_policy_force.c
 * @forced: the variable's value
 * @p: changed where that says so
 *
 * Return: false if it is not understood; nothing is changed then.
 */
bool policy_force(const char *forced, struct policy *p);

#endif /* DROVER_COND_POLICY_H */
