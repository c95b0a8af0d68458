// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes in different pid namespaces, as containers are, share a condvar. The
 * thread ids of one name other processes there, or nobody. One of them is stopped
 * after each instruction of its calls while one of the other namespace uses the
 * condvar, too; nobody hangs.
 *
 *	seed=N
 *
 * APIs: drover pthread
 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "api.h"
#include "preempt.h"
#include "run.h"

#define MOST_NS	  (1500 * NS_PER_MS) /* for one kind of call */
#define STRIDE	  7
#define SETTLE_NS (2 * NS_PER_MS)

static struct arena {
	api_mutex_t mutex;
	api_cond_t cond;
	bool is_over;	     /* [mutex] */
	atomic_int nr_asked; /* of the other to act */
	atomic_int nr_acted;
	atomic_int nr_waiting;
	atomic_bool has_finished;
	atomic_bool has_no_namespace;
} * arena;

static void signal_it(void *arg)
{
	api_cond_signal(&arena->cond);
}

static void broadcast_held(void *arg)
{
	api_mutex_lock(&arena->mutex);
	api_cond_broadcast(&arena->cond);
	api_mutex_unlock(&arena->mutex);
}

static void time_out(void *arg)
{
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);

	api_mutex_lock(&arena->mutex);
	api_cond_clockwait(&arena->cond, &arena->mutex, CLOCK_MONOTONIC, &past);
	api_mutex_unlock(&arena->mutex);
}

static const struct call {
	const char *name;
	void (*call)(void *arg);
} calls[] = {
	{ "signal", signal_it },
	{ "broadcast, mutex held", broadcast_held },
	{ "wait, which times out", time_out },
};

static void arena_start(void)
{
	arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED ||
	    kind_mutex_init(&arena->mutex, kind_named("normal"), true) ||
	    kind_cond_init(&arena->cond, true))
		tap_bail("no arena");
}

static void arena_anew(void)
{
	arena->is_over = false;
	atomic_store(&arena->nr_asked, 0);
	atomic_store(&arena->nr_acted, 0);
	atomic_store(&arena->nr_waiting, 0);
	atomic_store(&arena->has_finished, false);
}

static pid_t start(void (*body)(const struct call *call, uint64_t seed),
		   const struct call *call, uint64_t seed)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watchdog(call->name);
		body(call, seed);
		_exit(0);
	}
	return pid;
}

static void reap(pid_t pid)
{
	if (waitpid(pid, NULL, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
}

/* Waits until all is over. */
static void waiting_process(const struct call *call, uint64_t seed)
{
	api_mutex_lock(&arena->mutex);
	atomic_fetch_add(&arena->nr_waiting, 1);
	while (!arena->is_over)
		api_cond_wait(&arena->cond, &arena->mutex);
	api_mutex_unlock(&arena->mutex);
}

/* In the midst of the stopped one's call. It may have the mutex. */
static void let_other_act(void *arg)
{
	int nr = atomic_fetch_add(&arena->nr_asked, 1) + 1;
	int64_t end = blocked_now_ns() + SETTLE_NS;

	while (atomic_load(&arena->nr_acted) < nr && blocked_now_ns() < end)
		sched_yield();
}

static void await_other(void)
{
	while (atomic_load(&arena->nr_acted) < atomic_load(&arena->nr_asked))
		sched_yield();
}

static void stopped_process(const struct call *call, uint64_t seed)
{
	int64_t end = blocked_now_ns() + MOST_NS;
	long nr = 1 + random_below(&seed, STRIDE);

	do {
		if (!preempt_after(nr, call->call, let_other_act, NULL))
			nr = random_below(&seed, STRIDE);
		nr += STRIDE;
		await_other();
	} while (blocked_now_ns() < end);
	atomic_store(&arena->has_finished, true);
}

/* Its child is in the namespace, and has another id there. */
static void namespace_process(const struct call *call, uint64_t seed)
{
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) {
		atomic_store(&arena->has_no_namespace, true);
		atomic_store(&arena->has_finished, true);
		return;
	}
	reap(start(stopped_process, call, seed));
}

static void act(void)
{
	signal_it(NULL);
	time_out(NULL);
	broadcast_held(NULL);
}

static void test(const struct call *call, uint64_t seed)
{
	pid_t waiting, other;

	watchdog(call->name);
	arena_anew();
	waiting = start(waiting_process, call, seed);
	if (wait_at_least(&arena->nr_waiting, 1))
		tap_bail("nobody waits");
	other = start(namespace_process, call, seed);
	while (!atomic_load(&arena->has_finished)) {
		int nr = atomic_load(&arena->nr_asked);

		if (nr == atomic_load(&arena->nr_acted)) {
			sched_yield();
			continue;
		}
		act();
		atomic_store(&arena->nr_acted, nr);
	}
	reap(other);
	api_mutex_lock(&arena->mutex);
	arena->is_over = true;
	api_cond_broadcast(&arena->cond);
	api_mutex_unlock(&arena->mutex);
	reap(waiting);
	if (atomic_load(&arena->has_no_namespace))
		tap_skip(call->name, "no pid namespace is permitted here");
	else
		tap_ok(true,
		       "%s, stopped %d times for one of another namespace",
		       call->name, atomic_load(&arena->nr_acted));
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed");
	uint64_t seed;

	api_start(argv);
	if (!PREEMPT_POSSIBLE)
		return sanitizer_skips("pid namespaces", "no trap flag here");
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(NR_OF(calls));
	tap_diag("seed=%" PRIu64, seed);
	arena_start();
	for (int i = 0; i < NR_OF(calls); i++)
		test(&calls[i], seed);
	return tap_exit();
}
