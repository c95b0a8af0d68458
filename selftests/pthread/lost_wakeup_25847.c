// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test provokes the lost wakeup of glibc 2.25 to 2.40 (sourceware bug
 * 25847), if the C library has this fault. Then it does the same with the
 * drop-in, which must not lose one. Documentation/lost-wakeup.rst explains the
 * fault.
 *
 *	seed=N	where to begin
 *	ms=N	milliseconds for the drop-in; 0: stop at all places
 *
 * Each round is a process in which one thread is stopped after one instruction
 * of its turn while others take and post tokens. A wakeup is lost if all
 * threads sleep although there is a token and a thread waits for one.
 */
#include <gnu/libc-version.h>
#include <sys/prctl.h>

#include "api.h"
#include "preempt.h"

#define NR_TAKERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int tokens; /* [mutex] */

/* Other threads than the stopped one, each of which takes a token. */
static struct actor takers[NR_TAKERS];

static long place; /* the thread is stopped after so many instructions */
static bool keep;  /* the mutex is held at a signal */

static void take_token(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!tokens)
		pthread_cond_wait(&cond, &mutex);
	tokens--;
	pthread_mutex_unlock(&mutex);
}

static void *taker_thread(void *arg)
{
	struct actor *taker = arg;

	taker->tid = blocked_gettid();
	take_token(NULL);
	taker->done = true;
	return NULL;
}

static bool waits(const struct actor *taker)
{
	return taker->tid && !taker->done;
}

static int nr_waiting(void)
{
	int nr = 0;

	for (int i = 0; i < NR_TAKERS; i++)
		nr += waits(&takers[i]);
	return nr + !caller.done;
}

static void settle(void)
{
	for (int i = 0; i < NR_TAKERS; i++)
		if (waits(&takers[i]))
			thread_settled(&takers[i].tid, &takers[i].done);
}

static void begin(int number)
{
	struct actor *taker = &takers[number];

	start_thread(&taker->thread, taker_thread, taker);
	reached(&taker->tid, 1);
	settle();
}

/* Post @nr tokens, and signal for each; -1: take a token, if there is one. */
static void post(int nr)
{
	pthread_mutex_lock(&mutex);
	if (nr > 0 || tokens)
		tokens += nr;
	if (!keep)
		pthread_mutex_unlock(&mutex);
	for (int i = 0; i < nr; i++)
		pthread_cond_signal(&cond);
	if (keep)
		pthread_mutex_unlock(&mutex);
	settle();
}

/*
 * The stopped thread gets a token as soon as it sleeps, and is stopped before
 * or after that. Then its group is closed, and the next group comes and goes.
 * The group after it has the place of the first one, and two members.
 */
static void others_move(void *arg)
{
	while (!other.go && !caller.done) {
		if (blocked_in_futex(getpid(), caller.tid, NULL) == 1)
			post(1);
		sched_yield();
	}
	if (!other.go)
		return;
	post(-1);
	begin(0);
	post(1);
	begin(1);
	begin(2);
	post(1);
}

/* Do all threads sleep that have not ended? */
static bool all_sleep(uint64_t *sleeps)
{
	if (!other.done ||
	    (!caller.done && !sleeps_add(getpid(), caller.tid, sleeps)))
		return false;
	for (int i = 0; i < NR_TAKERS; i++)
		if (waits(&takers[i]) &&
		    !sleeps_add(getpid(), atomic_load(&takers[i].tid), sleeps))
			return false;
	return true;
}

/* The outcome of a round. */
enum {
	WENT_WELL,
	LOST,
	NO_SUCH_PLACE
};

/* A round, in a process of its own. */
static bool round_runs(void)
{
	uint64_t first, second;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The instructions of a process's first wait are left out. */
	api_time_out(&cond, &mutex);
	/* A thread that has not settled by then spins for the stopped one. */
	everywhere_spin_ms = 2000;
	actor_start(&caller, caller_thread, take_token, place);
	actor_start(&other, other_thread, others_move, place);
	caller.go = true;
	do {
		wait_until((first = second = 0, all_sleep(&first)) &&
				   all_sleep(&second) && first == second,
			   "the threads never come to rest");
		if (tokens && nr_waiting())
			_exit(LOST);
		if (nr_waiting())
			post(1);
	} while (nr_waiting());
	_exit(preempt.done ? WENT_WELL : NO_SUCH_PLACE);
}

static int nr_places;

/*
 * Stop at every place, or for @ms at evenly distributed places. At every second
 * place, signals are sent with the mutex held. Return: how many wakeups were
 * lost.
 */
static int every_place(uint64_t seed, uint64_t ms)
{
	int64_t end = blocked_now_ns() + (int64_t)ms * NS_PER_MS;
	int nr_lost = 0, nr_tried = 0;

	for (int i = 0; i < EVERYWHERE_STRIDE; i++) {
		int outcome = WENT_WELL;

		place = 1 + (seed + 7 * i) % EVERYWHERE_STRIDE;
		while (outcome != NO_SUCH_PLACE) {
			if (ms && nr_tried && blocked_now_ns() > end)
				return nr_lost;
			keep = (seed + nr_tried) % 2;
			outcome = child_status(round_runs, "a stopped wait");
			if (outcome < 0 || outcome > NO_SUCH_PLACE)
				tap_bail("a round breaks, %ld instructions",
					 place);
			if (outcome == LOST)
				tap_diag("a wakeup is lost, %ld instructions",
					 place);
			nr_lost += outcome == LOST;
			nr_tried++;
			if (place > nr_places)
				nr_places = place;
			place += EVERYWHERE_STRIDE;
		}
	}
	return nr_lost;
}

/* Does this C library lose a wakeup at some place? */
static void test_stock(uint64_t seed)
{
	const char *version = gnu_get_libc_version();
	int major = 0, minor = 0, nr_lost;
	char name[80];

	snprintf(name, sizeof(name), "glibc %s: it loses a wakeup", version);
	sscanf(version, "%d.%d", &major, &minor);
	if (major != 2 || minor < 25 || minor > 40) {
		tap_skip(name, "only 2.25 to 2.40 lose a wakeup");
		return;
	}
	if (!variant_is_host()) {
		tap_skip(name, "a guest has no time for every place");
		return;
	}
	nr_lost = every_place(seed, 0);
	tap_diag("a wakeup was lost at %d of %d places", nr_lost, nr_places);
	if (!nr_lost && minor >= 38)
		tap_skip(name, "this build of it seems to have the fix");
	else
		tap_ok(nr_lost, "%s", name);
}

/* Return: why threads cannot be stopped here, or NULL. */
static const char *why_not(void)
{
	if (!FORK_THREADS_WORK)
		return "most instructions would be the sanitizer's";
	return PREEMPT_POSSIBLE ? NULL : "this processor has no trap flag";
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed ms");
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	uint64_t ms = args_get(&args, "ms", 3000);

	if (why_not())
		return tap_skipped("stop a waiter at each instruction",
				   why_not());
	/* The linker must not resolve functions while a thread is stopped. */
	if (!getenv("LD_BIND_NOW")) {
		setenv("LD_BIND_NOW", "1", 1);
		execv("/proc/self/exe", argv);
	}
	/* First without the drop-in; then the program executes itself again. */
	if (!drop_in_loaded()) {
		tap_start();
		test_stock(seed);
		run_hand_on(0);
	}
	if (!drop_in_wanted())
		return tap_exit();
	/*
	 * A thread that polls would execute the same instructions repeatedly.
	 */
	setenv("DROVER_POLICY", "spin=0", 1);
	drop_in_load(argv);
	run_go_on();
	tap_diag("seed=%" PRIu64, seed);
	tap_is(every_place(seed, ms), 0, "drop-in: no wakeup lost");
	tap_diag("there are about %d places", nr_places);
	return tap_exit();
}
