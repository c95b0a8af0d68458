// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once: waits without end and with short deadlines, signals,
 * broadcasts, destroys, cancellations and signal handlers, on every kind of
 * mutex. A ledger for each condvar accounts for every pair of a wait and the
 * wakeup that ended it: see mixed.h.
 *
 * attack/storm and its like are the same over a futex layer that is late,
 * spurious, and may refuse requeues. A storm is one round, of its seed alone,
 * in a process of its own: one that failed is repeated with seed= and storms=1.
 *
 *	pairs=N			so many over all policies, or
 *	seconds=N		for so long
 *	storms=N		so many under each policy
 *	mutex=N			only this kind of mutex, see api.h
 *	threads=N most=N	drawn anew; the first rounds have these
 *	seed=N
 *	progress=N		a line every N seconds
 *	patience=N		seconds without any progress that are a hang
 *
 * APIs: drover pthread
 * APIs: drover attack/storm attack/pthread_storm
 * APIs: drover attack/shared_storm attack/pthread_shared_storm
 */
#include "mixed_progress.h"

static bool enough(void)
{
	if (nr_pairs() >= run.round)
		return true;
	if (ATTACKED) /* it depends on the seed alone */
		return false;
	return run.end ? blocked_now_ns() >= run.end :
			 run.nr_pairs + nr_pairs() >= run.want;
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

/* Only those wait who should: nobody is owed anything, nobody is on the way. */
static bool settled(void)
{
	int nr_waiting = 0, nr_stay = 0;

	for (int i = 0; i < mixed->nr_boxes; i++)
		if (mixed->boxes[i].ledger.owed)
			return false;
	for (int i = mixed->nr_signallers; i < mixed->nr_workers; i++) {
		int state = mixed->workers[i].state;

		if (state == ACTIVE)
			return false;
		nr_waiting += state == WAITING;
	}
	for (int i = 0; i < mixed->nr_boxes; i++) {
		box_lock(&mixed->boxes[i]);
		nr_stay += mixed->boxes[i].ledger.stay;
		box_unlock(&mixed->boxes[i]);
	}
	return nr_waiting == nr_stay;
}

static int draw_threads(uint64_t *random)
{
	int nr = options.threads, doublings = 0;

	if (!ATTACKED && run.nr_rounds < 2)
		return run.nr_rounds ? options.most : options.threads;
	while (nr << (doublings + 1) < options.most)
		doublings++;
	nr <<= random_below(random, doublings + 1);
	nr += random_below(random, nr);
	return nr < options.most ? nr : options.most;
}

static void round_make(uint64_t *random)
{
	long most = options.pairs / 300;
	int nr_waiters, kind = options.mutex;

	memset(mixed, 0, sizeof(*mixed));
	mixed->watched_ns = 1;
	mixed->nr_workers = draw_threads(random);
	mixed->nr_signallers = 1 + mixed->nr_workers / 32;
	if (ATTACKED && mixed->nr_workers > 4)
		mixed->nr_signallers += random_below(random, 2);
	nr_waiters = mixed->nr_workers - mixed->nr_signallers;
	/* Many rounds: each has its own number of threads and kind of mutex. */
	run.round = ATTACKED	  ? 400 :
		    most < 2000	  ? 2000 :
		    most < 100000 ? most :
				    100000;
	/* Few threads sleep and wake for every single pair: that is slow. */
	if (nr_waiters < 8)
		run.round = run.round * nr_waiters / 8;
	mixed->nr_boxes = nr_waiters < 4 ? 1 : nr_waiters < 8 ? 2 : MAX_BOXES;
	if (ATTACKED && random_below(random, 2))
		mixed->nr_boxes = 1;
	if (kind < 0)
		kind = !ATTACKED && random_below(random, 3) ?
			       0 :
			       random_below(random, NR_MUTEX_KINDS);
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
		feed_watchdog(blocked_now_ns());
	}
}

/* Returns whether every pair is accounted for, and nobody is left. */
static bool round_passes(uint64_t *random)
{
	feed_watchdog(blocked_now_ns());
	round_make(random);
	round_start(random);
	if (!await(enough))
		return false;
	mixed->stop_signals = true;
	mixed->arrivals++;
	rouse(&mixed->arrivals, INT_MAX);
	if (!await(signallers_ended))
		return false;
	mixed->stop_waits = true;
	if (!await(settled))
		return false;
	/* Everybody goes home; the condvar may be destroyed at once. */
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
		struct worker *w = &mixed->workers[i];

		if (w->pid)
			waitpid(w->pid, NULL, 0);
		else
			joined(w->thread);
		feed_watchdog(blocked_now_ns());
	}
	run.nr_rounds++;
	run.nr_pairs += nr_pairs();
	memset(mixed->workers, 0, sizeof(mixed->workers));
	return !nr_wrong();
}

static bool run_over(void)
{
	return run.end ? blocked_now_ns() >= run.end : run.nr_pairs >= run.want;
}

#ifndef DROVER_FAKE_FUTEX

/* In this process. */
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
	uint32_t harsh = random_below(&layer, 4); /* or mild */
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

/* Storms, each a round in a process of its own. */
static bool rounds_pass(uint64_t seed)
{
	uint64_t random = seed;
	bool passed = true;
	long nr = 0;

	while (passed && (nr == 0 || (options.storms ? nr < options.storms :
						       !run_over()))) {
		watchdog("a storm");
		storm_seed = seed;
		passed = child_does(storm_runs, "a storm");
		if (!passed)
			tap_diag("this was the storm of seed=%" PRIu64, seed);
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
	run.want = (options.pairs + NR_POLICIES - 1) / NR_POLICIES;
	if (!options.pairs)
		run.end = run.said + options.seconds * NS_PER_S / NR_POLICIES;
	tap_diag("seed=%" PRIu64 " threads=%d most=%d", options.seed,
		 options.threads, options.most);
	mixed = map_pages(sizeof(*mixed));
	tap_ok(rounds_pass(options.seed), "%s: every pair is accounted for",
	       policy);
}

static void handle_nothing(int signal)
{
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv,
				      "seed pairs seconds storms mutex threads "
				      "most progress patience");
	struct sigaction action = { .sa_handler = handle_nothing };
	int most;

	api_start(argv);
	options.seed = args_get(&args, "seed", args_fresh_seed());
	options.pairs = args_get(&args, "pairs", 0);
	most = ATTACKED ? 16 : options.pairs ? 200 : 40;
	options.seconds = args_get(&args, "seconds", ATTACKED ? 2 : 1);
	options.storms = args_get(&args, "storms", 0);
	options.mutex = args_get(&args, "mutex", -1);
	options.threads = args_get(&args, "threads", ATTACKED ? 3 : 2);
	options.most = args_get(&args, "most", most);
	options.progress = args_get(&args, "progress", 0);
	options.patience = args_get(&args, "patience", 60);
	if (options.threads < 2 || options.most < options.threads ||
	    options.most > MAX_THREADS)
		tap_bail("2 <= threads <= most <= %d", MAX_THREADS);
	if (options.mutex >= NR_MUTEX_KINDS)
		tap_bail("there are %d kinds of mutexes", NR_MUTEX_KINDS);
	sigaction(SIGUSR2, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, NULL);
	/* Or a short sleep would take 50 microseconds more. */
	prctl(PR_SET_TIMERSLACK, 1);
	watchdog_report = report;
	watchdog_seconds = options.patience + WATCHDOG_SECONDS / 2;
	return policy_main(argv, test);
}
