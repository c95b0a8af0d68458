// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lost wakeup of glibc 2.25 to 2.40 (sourceware bug 25847), on purpose;
 * and the same on the drop-in, which must not lose one. The explanation is in
 * Documentation/lost-wakeup.rst.
 *
 *	seed=N rounds=N stride=N
 *
 * A waiter is held after each single instruction of its pthread_cond_wait() in
 * turn, as an unlucky scheduler would, while other threads wait and signal.
 * With STOCK=1 in the environment only the C library is tested.
 *
 * In a guest, where a step takes as long as a hundred elsewhere, only every
 * 32nd place is tried, and the C library is not.
 */
#include <gnu/libc-version.h>

#include "run.h"
#include "sleepers.h"
#include "victim.h"

#define NR_MOVES 12

/*
 * The held thread's group is closed, the next one comes and goes, and the one
 * after that has the place of the first, and two members.
 */
static void groups_turn(struct victim *v, bool keep)
{
	tell(v, (struct order){ .tokens = -1 });
	begin(v, 1);
	post(v, keep);
	begin(v, 2);
	begin(v, 3);
	post(v, keep);
}

/*
 * What other users of the semaphore might do. Only a thread that finds no token
 * waits, so most tokens that are left over are taken first.
 */
static void random_moves(struct victim *v, uint64_t *state)
{
	const struct order take = { .tokens = -1 };
	struct order all = { .all = true };

	for (int i = 0; i < NR_MOVES; i++) {
		bool keep = random_below(state, 2);
		uint32_t what = random_below(state, 12);

		if (arena->tokens && random_below(state, 4)) {
			tell(v, take);
		} else if (what == 0) {
			all.tokens = nr_waiting();
			all.keep = keep;
			tell(v, all);
		} else if (what < 6) {
			post(v, keep);
		} else {
			begin(v, 1 + random_below(state, NR_WAITERS - 1));
		}
	}
}

/* Hold a thread once. Return: false if its wait has no such place. */
static bool hold_once(struct victim *v, int place, bool keep, uint64_t *state)
{
	bool held = hold(v, place, keep);

	if (held && state)
		random_moves(v, state);
	else if (held)
		groups_turn(v, keep);
	let_go(v);
	settle(v);
	while (!v->lost && nr_waiting())
		post(v, keep);
	return held;
}

/* The results, each of many victims. */

static int nr_places, nr_lost;

/*
 * Hold at every place, or at each that is @stride away from the one before. The
 * mutex is held at the signals of every second one.
 */
static void every_place(const char *library, uint64_t seed, int stride)
{
	bool keep = seed & 1;
	struct victim v;

	nr_lost = 0;
	nr_places = seed % stride;
	victim_start(&v, library);
	while (hold_once(&v, nr_places, keep, NULL)) {
		if (v.lost) {
			nr_lost++;
			tap_diag("lost: held at pthread_cond_wait+%#lx (%d)",
				 (unsigned long)v.place, nr_places);
			victim_end(&v);
			victim_start(&v, library);
		}
		nr_places += stride;
		keep = !keep;
	}
	victim_end(&v);
}

static void test_drop_in(const char *library, uint64_t seed, int stride)
{
	every_place(library, seed, stride);
	tap_is(nr_lost, 0, "drop-in: no wakeup lost");
	tap_diag("a waiter was held at %d of %d places", nr_places / stride,
		 nr_places);
}

static void test_at_random(const char *library, uint64_t seed, int nr_rounds)
{
	struct victim v;

	nr_lost = 0;
	for (int i = 0; i < nr_rounds; i++) {
		uint64_t state = seed + i;
		int place = random_below(&state, nr_places);

		victim_start(&v, library);
		hold_once(&v, place, random_below(&state, 2), &state);
		victim_end(&v);
		if (!v.lost)
			continue;
		nr_lost++;
		tap_diag("lost: seed=%" PRIu64 " rounds=1, held at %#lx",
			 seed + i, (unsigned long)v.place);
	}
	tap_is(nr_lost, 0, "drop-in: nor when others do anything meanwhile");
	tap_diag("a waiter was held %d times, anywhere", nr_rounds);
}

static void test_stock(uint64_t seed, int stride)
{
	const char *version = gnu_get_libc_version();
	int major = 0, minor = 0;
	char name[80];

	snprintf(name, sizeof(name), "glibc %s: reproduced", version);
	sscanf(version, "%d.%d", &major, &minor);
	if (major != 2 || minor < 25 || minor > 40) {
		tap_skip(name, "only 2.25 to 2.40 lose a wakeup");
		return;
	}
	if (stride > 1) {
		tap_skip(name, "that takes every place: stride=1");
		return;
	}
	every_place(NULL, seed, stride);
	tap_diag("a wakeup was lost at %d of %d places", nr_lost, nr_places);
	if (!nr_lost && minor >= 38)
		tap_skip(name, "this one seems to have the fix");
	else
		tap_ok(nr_lost, "%s", name);
}

/* Why threads cannot be held here, or NULL. */
static const char *why_not(void)
{
	struct victim v;
	int err;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return "most instructions would be the sanitizer's";
#endif
	if (!STEPPER_WORKS)
		return "only written for x86-64";
	victim_start(&v, NULL);
	err = stepper_seize(arena->tid[0]);
	if (!err)
		v.held = arena->tid[0];
	victim_end(&v);
	return err ? "ptrace is not permitted" : NULL;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed rounds stride victim");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	bool host = variant_is_host();
	int nr_rounds = args_get(&args, "rounds", host ? 50 : 5);
	int stride = args_get(&args, "stride", host ? 1 : 32);
	int fd = args_get(&args, "victim", 0);
	bool drop_in = drop_in_wanted();
	char library[PATH_MAX];
	const char *why;

	if (fd)
		victim_main(fd);
	arena_create();
	why = why_not();
	tap_plan(why ? 1 : drop_in ? 3 : 1);
	tap_diag("seed=%" PRIu64, seed);
	if (why) {
		tap_skip("hold a waiter at each instruction", why);
		return tap_exit();
	}
	if (drop_in) {
		drop_in_path(library);
		test_drop_in(library, seed, stride);
		test_at_random(library, seed, nr_rounds);
	}
	test_stock(seed, stride);
	return tap_exit();
}
