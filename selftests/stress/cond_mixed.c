// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once: waits without a deadline and with short ones, signals,
 * broadcasts, destroys, cancellations and signal handlers, on every kind of
 * mutex. A ledger for each condvar accounts for every pair of a wait and the
 * wakeup that ended it: see mixed.h.
 *
 * The storms of attack/ are the same over a futex layer that is late and
 * spurious, and may refuse requeues. A storm is one round, which depends only
 * on its seed, in a process of its own. A storm that failed can be repeated
 * with seed= and seconds=0.
 *
 *	pairs=N			the number of pairs, over all policies; or
 *	seconds=N		the time
 *	seed=N
 *	progress=N		print a line every N seconds
 *	patience=N		after N seconds without progress the test hangs,
 *				if stuck.h has not found that before
 *
 * APIs: drover pthread
 * APIs: drover attack/storm attack/pthread_storm
 * APIs: drover attack/shared_storm attack/pthread_shared_storm
 */
#include "mixed_signal.h"

static struct {
	uint64_t seed;
	long pairs;
	int64_t seconds, progress;
} options;

/* The state of the run under one policy. */
static struct {
	const char *policy;
	int64_t end, said, moved; /* when a waiter has taken a step */
	long want, round, nr_pairs;
	int nr_rounds;
} run;

static long nr_pairs(void)
{
	long nr = 0;

	for (int i = 0; i < mixed->nr_workers; i++)
		nr += mixed->workers[i].nr_pairs;
	return nr;
}

/* Return: the steps of the waiters. Signallers take steps in a hang, too. */
static unsigned long nr_steps(void)
{
	unsigned long nr = 0;

	for (int i = mixed->nr_signallers; i < mixed->nr_workers; i++)
		nr += mixed->workers[i].nr_steps;
	return nr;
}

static int nr_wrong(void)
{
	int nr = 0;

	for (int i = 0; i < mixed->nr_boxes; i++)
		nr += mixed->boxes[i].ledger.nr_wrong;
	return nr;
}

static void box_report(const struct box *box)
{
	const struct ledger *l = &box->ledger;

	if (l->nr_wrong)
		tap_diag("the ledger found: %s (and %d more)", l->wrong,
			 l->nr_wrong - 1);
	tap_diag(
		"box %d: waits=%lu broadcast=%lu stay=%d due=%d signals=%d sending=%d%s",
		(int)(box - mixed->boxes), l->begun, l->broadcast, l->stay,
		l->due, l->nr_signals, l->sending,
		box->closed ? " closed" : "");
}

/* If the worker sleeps, the report of stuck.h says in which call. */
static void worker_report(const struct worker *w)
{
	static const char *const states[] = { "active", "waits", "ended" };
	const struct box *box = w->box;

	tap_diag("%s %d: %s, box %d%s", w->act == stir ? "signaller" : "waiter",
		 w->tid, states[w->state], box ? (int)(box - mixed->boxes) : -1,
		 w->cancelled ? ", cancelled" : "");
}

static void report(void)
{
	tap_diag("%s, round %d: %d threads, %s mutex%s, %ld pairs", run.policy,
		 run.nr_rounds, mixed->nr_workers, mixed->kind->name,
		 mixed->shared ? ", shared" : "", nr_pairs());
	for (int i = 0; i < mixed->nr_boxes; i++)
		box_report(&mixed->boxes[i]);
	for (int i = 0; i < mixed->nr_workers; i++)
		worker_report(&mixed->workers[i]);
	words_forget();
	for (int i = 0; i < mixed->nr_boxes; i++)
		words_of(mixed->boxes[i].cond, mixed->boxes[i].mutex);
	stuck_report();
}

/* Workers that have ended wake no others any more, so they do not count. */
static bool workers_are_stuck(uint64_t *sleeps)
{
	for (int i = 0; i < mixed->nr_workers; i++) {
		const struct worker *w = &mixed->workers[i];

		if (w->state != ENDED &&
		    !sleeps_for_ever(w->pid, w->tid, sleeps))
			return false;
	}
	return true;
}

static int workers_list(struct stuck_thread *list)
{
	int nr = 0;

	for (int i = 0; i < mixed->nr_workers; i++) {
		const struct worker *w = &mixed->workers[i];

		if (w->state != ENDED)
			list[nr++] = (struct stuck_thread){ .pid = w->pid,
							    .tid = w->tid };
	}
	return nr;
}

_Static_assert(MAX_THREADS <= STUCK_SHOWN, "all are in the report");

/*
 * Watch the workers until @done. Return: false, with a report, if a test fails.
 */
static bool await(bool (*done)(void))
{
	const struct timespec moment = { .tv_nsec = NS_PER_MS };
	int64_t deadline = blocked_deadline();
	unsigned long before = 0, steps;

	run.moved = blocked_now_ns();
	while (!nr_wrong() && !done()) {
		steps = nr_steps();
		if (steps != before) {
			deadline = blocked_deadline();
			run.moved = blocked_now_ns();
			/* The watchdog is for a hang of this thread itself. */
			watchdog("mixed stress");
		} else if (stuck_found() || blocked_over(deadline)) {
			tap_diag("a waiter was forgotten");
			report();
			return false;
		}
		before = steps;
		if (options.progress &&
		    blocked_now_ns() >=
			    run.said + options.progress * NS_PER_S) {
			run.said = blocked_now_ns();
			tap_diag("%s: %ld of %ld pairs", run.policy,
				 run.nr_pairs + nr_pairs(), run.want);
		}
		/* Between two looks: the counts decide, not the time. */
		nanosleep(&moment, NULL);
	}
	if (!nr_wrong())
		return true;
	report();
	return false;
}

static bool run_over(void)
{
	return blocked_now_ns() >= run.end ||
	       run.nr_pairs + nr_pairs() >= run.want;
}

/*
 * A storm depends only on its seed. If no waiter goes on for a second, let the
 * signallers end, which find no waiter to signal to and never sleep. Then
 * stuck.h can find out whether the waiters sleep for ever.
 */
static bool enough(void)
{
	return nr_pairs() >= run.round || (!ATTACKED && run_over()) ||
	       blocked_now_ns() > run.moved + NS_PER_S;
}

static bool have_ended(int nr)
{
	for (int i = 0; i < nr; i++)
		if (mixed->workers[i].state != ENDED)
			return false;
	return true;
}

static bool signallers_ended(void)
{
	return have_ended(mixed->nr_signallers);
}

static bool all_ended(void)
{
	return have_ended(mixed->nr_workers);
}

/* All waiters wait that should, and none is owed a return. */
static bool settled(void)
{
	for (int i = mixed->nr_signallers; i < mixed->nr_workers; i++)
		if (mixed->workers[i].state == ACTIVE)
			return false;
	for (int i = 0; i < mixed->nr_boxes; i++)
		if (mixed->boxes[i].ledger.owed)
			return false;
	return true;
}

/*
 * Draw few threads more often than many. The first two rounds have as few and
 * as many as possible.
 */
static int draw_threads(uint64_t *random)
{
	int least = ATTACKED ? 3 : 2;
	int most = ATTACKED ? 16 : options.pairs ? MAX_THREADS : 40;

	if (!ATTACKED && run.nr_rounds < 2)
		return run.nr_rounds ? most : least;
	most = random_below(random, most - least + 1);
	return least + random_below(random, most + 1);
}

static void round_make(uint64_t *random)
{
	long most = options.pairs / 300;
	int nr_waiters, kind = 0;

	memset(mixed, 0, sizeof(*mixed));
	mixed->nr_workers = draw_threads(random);
	mixed->nr_signallers = 1 + mixed->nr_workers / 32;
	if (ATTACKED && mixed->nr_workers > 4)
		mixed->nr_signallers += random_below(random, 2);
	nr_waiters = mixed->nr_workers - mixed->nr_signallers;
	/* Rounds are short, because each draws the threads and the mutex. */
	run.round = ATTACKED	  ? 400 :
		    most < 2000	  ? 2000 :
		    most < 100000 ? most :
				    100000;
	/* Few threads are slow, because they sleep and wake for each pair. */
	if (nr_waiters < 8)
		run.round = run.round * nr_waiters / 8;
	mixed->nr_boxes = nr_waiters < 4 ? 1 : nr_waiters < 8 ? 2 : MAX_BOXES;
	if (ATTACKED && random_below(random, 2))
		mixed->nr_boxes = 1;
	if (ATTACKED || random_below(random, 3) == 0)
		kind = random_below(random, NR_MUTEX_KINDS);
	mixed->kind = &mutex_kinds[kind];
	mixed->shared = PROCESSES || random_below(random, 8) == 0;
	/* Without robust lists, as under qemu-user, there are fewer kinds. */
	if (kind_mutex_init(&mixed->mutexes[0], mixed->kind, mixed->shared) ==
	    ENOTSUP)
		mixed->kind = kind_named("normal");
	for (int i = 0; i < MAX_BOXES / 2; i++)
		MUST(kind_mutex_init(&mixed->mutexes[i], mixed->kind,
				     mixed->shared));
	for (int i = 0; i < mixed->nr_boxes; i++) {
		mixed->boxes[i].mutex = &mixed->mutexes[i / 2];
		box_new_cond(&mixed->boxes[i]);
	}
}

static void round_start(uint64_t *random)
{
	for (int i = 0; i < mixed->nr_workers; i++) {
		struct worker *w = &mixed->workers[i];
		bool signals = i < mixed->nr_signallers;

		w->act = signals ? stir : take_part;
		w->stop = signals ? &mixed->stop_signals : &mixed->stop_waits;
		w->random = random_next(random);
		worker_start(w);
		watchdog("mixed stress");
	}
}

/* Return: is every pair accounted for, and has every waiter returned? */
static bool round_passes(uint64_t *random)
{
	watchdog("mixed stress");
	round_make(random);
	round_start(random);
	if (!await(enough))
		return false;
	mixed->stop_signals = true;
	if (!await(signallers_ended))
		return false;
	mixed->stop_waits = true;
	if (!await(settled))
		return false;
	/* All waiters return, and the condvar may be destroyed at once. */
	for (struct box *box = mixed->boxes;
	     box < mixed->boxes + mixed->nr_boxes; box++) {
		box_lock(box);
		ledger_broadcast(&box->ledger);
		broadcast_to(box, box->cond, true);
		box_unlock(box);
	}
	if (!await(all_ended))
		return false;
	for (int i = 0; i < mixed->nr_workers; i++) {
		if (PROCESSES)
			wait(NULL);
		else
			joined(mixed->workers[i].thread);
		watchdog("mixed stress");
	}
	run.nr_rounds++;
	run.nr_pairs += nr_pairs();
	memset(mixed->workers, 0, sizeof(mixed->workers));
	return !nr_wrong();
}

#ifndef DROVER_FAKE_FUTEX

/* All rounds run in this process. */
static bool rounds_pass(uint64_t random)
{
	bool passed;

	do {
		passed = round_passes(&random);
	} while (passed && (run.nr_rounds < 2 || !run_over()));
	tap_diag("%ld pairs, %d rounds", run.nr_pairs, run.nr_rounds);
	return passed && run.nr_pairs;
}

#else

static uint64_t storm_seed;

static bool storm_runs(void)
{
	uint64_t random = storm_seed, layer = random_next(&random);
	uint32_t harsh = random_below(&layer, 4); /* 0: nothing is late */
	struct fake_futex fake = { .seed = random_next(&layer) };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fake.late = harsh * random_below(&layer, 200);
	fake.spurious = harsh * random_below(&layer, 60);
	fake.expire = harsh * random_below(&layer, 300);
	if (random_below(&random, 4) == 0) {
		fake.refuse_with = random_below(&random, 2) ? ENOSYS : EPERM;
		fake.refuse_from = random_below(&random, 30);
	}
	fake_futex_start(fake);
	return round_passes(&random);
}

/* Storms run in processes of their own, one round in each. */
static bool rounds_pass(uint64_t seed)
{
	uint64_t random = seed;
	bool passed = true;
	long nr = 0;

	while (passed && (nr == 0 || !run_over())) {
		watchdog("a storm");
		storm_seed = seed;
		passed = child_does(storm_runs, "a storm");
		if (!passed)
			tap_diag("the storm that failed has seed=%" PRIu64,
				 seed);
		seed = random_next(&random);
		nr++;
	}
	tap_diag("%ld storms", nr);
	return passed;
}

#endif

static void test(const char *policy)
{
	run.policy = policy;
	run.said = blocked_now_ns();
	run.want = LONG_MAX;
	run.end = INT64_MAX;
	if (options.pairs)
		run.want = (options.pairs + NR_POLICIES - 1) / NR_POLICIES;
	else
		run.end = run.said + options.seconds * NS_PER_S / NR_POLICIES;
	tap_diag("seed=%" PRIu64, options.seed);
	mixed = map_pages(sizeof(*mixed));
	tap_ok(rounds_pass(options.seed), "%s: every pair is accounted for",
	       policy);
}

static void handle_nothing(int signal)
{
}

int main(int argc, char **argv)
{
	struct args args =
		args_parse(argc, argv, "seed pairs seconds progress patience");
	struct sigaction action = { .sa_handler = handle_nothing };
	uint64_t patience = args_get(&args, "patience", 60);

	api_start(argv);
	options.seed = args_get(&args, "seed", args_fresh_seed());
	options.pairs = args_get(&args, "pairs", 0);
	options.seconds = args_get(&args, "seconds", ATTACKED ? 2 : 1);
	options.progress = args_get(&args, "progress", 0);
	sigaction(SIGUSR2, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, NULL);
	/* With the default slack a sleep takes 50 microseconds more. */
	prctl(PR_SET_TIMERSLACK, 1);
	watchdog_report = report;
	stuck.look = workers_are_stuck;
	stuck.list = workers_list;
	blocked_patience = patience * NS_PER_S;
	watchdog_seconds = patience + WATCHDOG_SECONDS / 2;
	return policy_main(argv, test);
}
