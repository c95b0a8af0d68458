// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storms of signals, broadcasts, timeouts, interrupts and destroys on one
 * condvar and one mutex, over a futex layer that is late, spurious, and may
 * refuse requeues. Every return must be accounted for and none may be
 * missing: see ledger.h and storm.h.
 *
 *	seed=N		of the first storm under each policy
 *	storms=N	so many under each policy ...
 *	seconds=N	... or for so long altogether
 *	mutex=N		only this kind of mutex, see target.h
 *	patience=N	seconds without any progress after which somebody who is
 *			owed a wake-up is taken for forgotten
 *
 * A storm is made from its seed alone and has a process of its own, so one that
 * failed is repeated, as far as the scheduler permits, with seed= and storms=1.
 *
 * APIs: drover pthread shared pthread_shared
 */
#include "conduct.h"
#include "run.h"
#include "tap.h"

#ifdef API_SHARED
#define SHARED true
#else
#define SHARED false
#endif

#define NR_ROUNDS 100

#define CAN_CANCEL (API_IS_PTHREAD && FRAMES_MAY_UNWIND)

static struct args args;

static void handle_nothing(int signal)
{
	(void)signal;
}

static void storm_handlers(void)
{
	struct sigaction action = { .sa_handler = handle_nothing };

	sigaction(SIGUSR2, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, NULL);
}

static void storm_add(enum role role, int nr, uint64_t *random)
{
	while (nr-- && storm->nr_workers < MAX_WORKERS) {
		struct worker *w = &storm->workers[storm->nr_workers++];

		w->role = role;
		w->random = random_next(random);
	}
}

static void storm_init(uint64_t *random)
{
	uint32_t kind = random_below(random, NR_MUTEX_KINDS);
	pthread_rwlockattr_t attr;

	storm = target_map(sizeof(*storm));
	storm->patience = args_get(&args, "patience", 30);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&storm->conductors, &attr);
	kind = args_get(&args, "mutex", kind);
	if (kind >= NR_MUTEX_KINDS)
		tap_bail("mutex=%u: there are %zu kinds", kind, NR_MUTEX_KINDS);
	target_init(&storm->target, SHARED, kind);
	storm_add(WAITER, 2 + random_below(random, 10), random);
	if (CAN_CANCEL && !SHARED)
		storm_add(QUITTER, random_below(random, 4), random);
	storm_add(LOCKER, random_below(random, 4), random);
	storm_add(CONDUCTOR, 1 + random_below(random, 2), random);
}

static struct fake_futex storm_fake(uint64_t *random)
{
	struct fake_futex fake = fake_futex_of(random_next(random));

	if (random_below(random, 4) == 0) {
		fake.refuse_with = random_below(random, 2) ? ENOSYS : EPERM;
		fake.refuse_from = random_below(random, 30);
	}
	return fake;
}

/* In a process of its own. */
static _Noreturn void storm_run(uint64_t seed)
{
	uint64_t random = seed;
	struct fake_futex fake;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	storm_handlers();
	fake = storm_fake(&random);
	storm_init(&random);
	fake_futex_start(fake);
	for (int i = 0; i < storm->nr_workers; i++)
		worker_start(&storm->workers[i]);
	for (int i = 0; i < NR_ROUNDS; i++)
		storm_round();
	storm_end();
	_exit(0);
}

/* Did the storm of this seed pass? */
static bool storm_passes(const char *policy, uint64_t seed)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid == 0)
		storm_run(seed);
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		tap_diag("killed by signal %d", WTERMSIG(status));
	if (status)
		tap_diag("%s: this was the storm of seed=%" PRIu64, policy,
			 seed);
	return status == 0;
}

static void test(const char *policy)
{
	uint64_t seed = args_get(&args, "seed", 0), random = seed;
	int64_t most = args_get(&args, "storms", INT32_MAX);
	int64_t ns = args_get(&args, "seconds", 2) * NS_PER_S / NR_POLICIES;
	int64_t end = blocked_now_ns() + ns;
	bool passed = true;
	int64_t nr = 0;

	tap_diag("seed=%" PRIu64, seed);
	while (passed && nr < most &&
	       (nr == 0 || most < INT32_MAX || blocked_now_ns() < end)) {
		passed = storm_passes(policy, seed);
		seed = random_next(&random);
		nr++;
	}
	tap_ok(passed, "%s: %" PRId64 " storms, every return accounted for",
	       policy, nr);
}

/* The same seed for every policy, and for whoever reads the output. */
static char **with_seed(int argc, char **argv)
{
	static char *more[16];
	static char seed[32];

	if (argc + 2 > 16)
		tap_bail("too many arguments");
	memcpy(more, argv, argc * sizeof(*argv));
	snprintf(seed, sizeof(seed), "seed=%" PRIu64, args_fresh_seed());
	if (!args_get(&args, "seed", 0))
		more[argc] = seed;
	return more;
}

int main(int argc, char **argv)
{
	args = args_parse(argc, argv, "seed storms seconds mutex patience");
	return policy_main(with_seed(argc, argv), 1, test);
}
