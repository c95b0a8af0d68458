// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some waiters sleep when a broadcast comes, and most have not fallen asleep
 * yet: a sched_yield() of this program's keeps them in their polls. While the
 * mutex is in use the broadcast wakes at most one of those that sleep.
 *
 * APIs: drover pthread
 */
#include "steps.h"

#define NR_WAITERS 8
#define NR_ASLEEP  3
#define NR_ROUNDS  40

static atomic_int round_of[NR_WAITERS]; /* in which each may wait */
static atomic_int nr_waiting, nr_kept;	/* in all rounds */
static atomic_bool keeps_awake;
static _Thread_local bool is_main;

int sched_yield(void)
{
	if (keeps_awake && !is_main) {
		nr_kept++;
		while (keeps_awake)
			usleep(500);
	}
	return syscall(SYS_sched_yield);
}

static atomic_int nr_numbers;

static int wait_in_rounds(api_cond_t *c, api_mutex_t *m)
{
	int number = atomic_fetch_add(&nr_numbers, 1);

	for (int round = 1; round <= NR_ROUNDS; round++) {
		api_mutex_unlock(m);
		while (atomic_load(&round_of[number]) < round)
			usleep(500);
		api_mutex_lock(m);
		nr_waiting++;
		api_cond_wait(c, m);
		atomic_fetch_sub(&nr_waiting, 1);
	}
	return 0;
}

/* Return: how many of those that slept the broadcast has woken. */
static int run_round(bool held_by_other)
{
	int nr = 0;

	/* Each is asleep, or kept from that, before the next one comes. */
	for (int i = 0; i < NR_WAITERS; i++) {
		int kept = nr_kept;

		keeps_awake = i >= NR_ASLEEP;
		atomic_fetch_add(&round_of[i], 1);
		reached(&nr_waiting, i + 1);
		while (nr_kept == kept &&
		       member_place(&fixture.members[i]) != AT_COND)
			sched_yield();
	}
	(held_by_other ? do_hold : do_lock)(NULL);
	api_cond_broadcast(&cond);
	for (int i = 0; i < NR_ASLEEP; i++)
		nr += member_place(&fixture.members[i]) != AT_COND;
	keeps_awake = false;
	(held_by_other ? do_let_go : do_unlock)(NULL);
	while (nr_waiting)
		sched_yield();
	return nr;
}

int main(int argc, char **argv)
{
	const struct member how = { .wait = wait_in_rounds };
	int most[2] = { 0 };

	api_start(argv);
	is_main = true;
	if (variant_is("none"))
		return tap_skipped("broadcasts", "this kernel has no requeue");
	tap_plan(2);
	watchdog("rounds of broadcasts");
	scene_start("", "normal", false);
	fixture = fixture_of(&cond, &mutex, NR_WAITERS);
	for (int i = 0; i < NR_WAITERS; i++) {
		fixture_start(&fixture, &how);
		reached(&nr_numbers, i + 1);
	}
	for (int round = 0; round < NR_ROUNDS; round++) {
		int nr = run_round(round % 2);

		most[round % 2] = nr > most[round % 2] ? nr : most[round % 2];
	}
	fixture_end(&fixture);
	tap_is(most[0], 0, "a broadcast by the mutex's holder wakes nobody");
	tap_ok(most[1] <= 1, "one while another thread holds it wakes one");
	return tap_exit();
}
