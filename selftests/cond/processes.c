// SPDX-License-Identifier: GPL-2.0-only
/*
 * A condvar and a mutex in memory that several processes share, each at an
 * address of its own. A process is killed after any instruction of its calls
 * (sourceware bug 21422), or is stopped there while a process of another pid
 * namespace uses the condvar, or is stopped after it was unblocked. No other
 * process hangs, and memory that is no longer the condvar's keeps its value.
 *
 *	seed=N
 *
 * APIs: drover pthread
 */
#include <sys/prctl.h>

#include "fixture.h"
#include "preempt.h"

#define MOST_PROCESSES 10
#define STRIDE	       7
#define SETTLE_NS      (2 * NS_PER_MS)
/* The time for one kind of call that is stopped. */
#define MOST_NS (1000 * NS_PER_MS)
/* Longer than it takes until a process is taken for dead. */
#define LONG_NS (2500 * NS_PER_MS)

static struct area {
	api_cond_t cond;
	api_mutex_t mutex;
	atomic_int nr_waiting, nr_returned;
	atomic_bool is_over;
	atomic_int nr_asked, nr_acted; /* how often to act, and was it done */
} * area;

static int memory; /* the file of the area */
static pid_t pids[MOST_PROCESSES];
static int nr_pids;
static uint64_t seed;

static struct area *area_map(void)
{
	struct area *map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE,
				MAP_SHARED, memory, 0);

	if (map == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return map;
}

static void area_start(const char *kind)
{
	if (area)
		munmap(area, sizeof(*area));
	close(memory);
	memory = memfd_create("area", MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, sizeof(*area)))
		tap_bail("memfd_create: %s", strerror(errno));
	area = area_map();
	MUST(kind_mutex_init(&area->mutex, kind_named(kind), true));
	MUST(kind_cond_init(&area->cond, true));
}

static int repaired(int err)
{
	return err == EOWNERDEAD ? API(mutex_consistent)(&area->mutex) : err;
}

static void lock(void)
{
	MUST(repaired(api_mutex_lock(&area->mutex)));
}

static pid_t start(void (*body)(void))
{
	const char *stage = watchdog_stage;
	struct area *here;
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	watchdog(stage);
	/* At another address than in the parent; the inherited mapping goes. */
	here = area_map();
	munmap(area, sizeof(*area));
	area = here;
	body();
	_exit(0);
}

static int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	return status;
}

static void wait_once(void)
{
	lock();
	area->nr_waiting++;
	if (repaired(api_cond_wait(&area->cond, &area->mutex)))
		_exit(1);
	area->nr_returned++;
	api_mutex_unlock(&area->mutex);
}

/* wait N: N processes, which sleep then */
STEP(wait)
{
	for (int i = 0; i < args[0]; i++) {
		int nr = area->nr_waiting + 1;

		pids[nr_pids++] = start(wait_once);
		reached(&area->nr_waiting, nr);
		place_settled(pids[nr_pids - 1], pids[nr_pids - 1], NULL);
	}
	return 0;
}

/* end: waits until all end. Return: how many end well. */
STEP(end)
{
	int nr = 0;

	while (nr_pids)
		nr += reap(pids[--nr_pids]) == 0;
	return nr;
}

STEP(asleep)
{
	int nr = 0;

	for (int i = 0; i < nr_pids; i++)
		nr += place_of(pids[i], pids[i], NULL) == AT_COND;
	return nr;
}

/* signals HELD: does each signal make one process return? */
STEP(signals)
{
	for (int i = 1; i <= nr_pids; i++) {
		signal_as(&area->cond, &area->mutex, args[0]);
		reached(&area->nr_returned, i);
		if (do_asleep(NULL) != nr_pids - i)
			return 0;
	}
	return 1;
}

STEP_IS(broadcast, api_cond_broadcast(&area->cond));
STEP_IS(lock, api_mutex_lock(&area->mutex));
STEP_IS(unlock, api_mutex_unlock(&area->mutex));

static int wait_till(int64_t ns)
{
	struct timespec end = deadline_in(CLOCK_MONOTONIC, ns);
	int err;

	lock();
	err = repaired(api_cond_clockwait(&area->cond, &area->mutex,
					  CLOCK_MONOTONIC, &end));
	api_mutex_unlock(&area->mutex);
	return err;
}

STEP_IS(time_out, wait_till(-1));
STEP_IS(destroy, api_cond_destroy(&area->cond));
STEP_DO(fill, memset(&area->cond, args[0], sizeof(area->cond)));

STEP(filled)
{
	const unsigned char *at = (const void *)&area->cond;

	for (size_t i = 0; i < sizeof(area->cond); i++)
		if (at[i] != args[0])
			return 0;
	return 1;
}

STEP(kill)
{
	while (nr_pids) {
		kill(pids[--nr_pids], SIGKILL);
		reap(pids[nr_pids]);
	}
	return 0;
}

STEP(stop)
{
	int status;

	kill(pids[0], SIGSTOP);
	return waitpid(pids[0], &status, WUNTRACED) == pids[0] &&
	       WIFSTOPPED(status);
}

STEP_IS(go_on, kill(pids[0], SIGCONT));

/*
 * usable DEAD: each dead waiter absorbs at most one signal, and none absorbs a
 * broadcast
 */
STEP(usable)
{
	do_wait((long[]){ 1 });
	for (int i = 0; i <= args[0]; i++)
		api_cond_signal(&area->cond);
	do_end(NULL);
	do_wait((long[]){ 3 });
	api_cond_broadcast(&area->cond);
	return do_end(NULL) == 3;
}

/* destroy knows that threads of its own process live. */
static struct fixture fixture;
static pthread_t destroyer;
static atomic_bool is_destroyed;

static void *destroy(void *arg)
{
	api_cond_destroy(&area->cond);
	is_destroyed = true;
	return arg;
}

STEP(thread_is_stopped)
{
	fixture = fixture_of(&area->cond, &area->mutex, 1);
	fixture_add(&fixture, 1);
	hold_off(fixture.members[0].thread);
	return 0;
}

STEP(destroy_waits)
{
	struct timespec late = deadline_in(CLOCK_MONOTONIC, LONG_NS);

	is_destroyed = false;
	start_thread(&destroyer, destroy, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &late, NULL);
	return !is_destroyed;
}

STEP(thread_goes_on)
{
	hold_off_end(1);
	pthread_join(destroyer, NULL);
	do_fill(args);
	fixture_end(&fixture);
	return do_filled(args);
}

#define STOPPED(pattern)                                    \
	"wait; stop = 1; broadcast; destroy; fill " pattern \
	"; go_on; end = 1;"                                 \
	"filled " pattern " = 1"

static const struct scene {
	const char *name, *kind, *steps;
} scenes[] = {
	{ "each signal, mutex free, returns one", "normal",
	  "wait 4; signals 0 = 1; end = 4" },
	{ "each signal, mutex held, returns one", "normal",
	  "wait 4; signals 1 = 1; end = 4" },
	{ "a broadcast, mutex free, returns all", "normal",
	  "wait 4; broadcast; end = 4" },
	{ "a broadcast, mutex held, returns all", "normal",
	  "wait 4; lock; broadcast; unlock; end = 4" },
	{ "a timeout, and the others still wait", "normal",
	  "wait 4; time_out = ETIMEDOUT; asleep = 4; broadcast; end = 4" },
	{ "destroyed at once: all return, and no call touches it", "normal",
	  "wait 4; lock; broadcast; destroy = 0; fill 255; unlock; end = 4;"
	  "filled 255 = 1" },
	{ "waiters are killed: the others go on", "robust",
	  "wait 3; kill; usable 3 = 1; usable 0 = 1" },
	{ "a waiter is killed: destroy takes it for dead", "normal",
	  "wait; kill; broadcast; destroy = 0" },
	{ "a stopped waiter goes on when all bytes are 0x00", "normal",
	  STOPPED("0") },

	{ "a stopped waiter goes on when all bytes are 0xff", "normal",
	  STOPPED("255") },
	{ "destroy waits for a thread of the same process", "normal",
	  "thread_is_stopped; broadcast; destroy_waits = 1;"
	  "thread_goes_on 255 = 1" },
};

/* ---- processes that are killed or stopped within a call ---- */

STEP_IS(signal, api_cond_signal(&area->cond));

STEP(broadcast_held)
{
	lock();
	do_broadcast(NULL);
	return do_unlock(NULL);
}

static const struct call {
	const char *name;
	long (*act)(const long *args);
	int stride; /* from one instruction at which it is killed to the next */
} calls[] = {
	{ "signal", do_signal, 1 },
	{ "broadcast, mutex held", do_broadcast_held, 1 },
	{ "wait, which times out", do_time_out, 3 * STRIDE },
};

static const struct call *call;
static long place; /* the number of an instruction of the call */

static void make_call(void *unused)
{
	call->act(NULL);
}

static void die(void *arg)
{
	kill(getpid(), SIGKILL);
}

static void call_and_die(void)
{
	preempt_after(place, make_call, die, NULL);
}

/* A process is killed at each place in turn, in the same condvar. */
static void test_killed(void)
{
	int stride = call->stride * 3 / guest_share(3);
	bool ok = true;

	watchdog(call->name);
	area_start("robust");
	place = 1 + random_below(&seed, stride);
	for (; ok; place += stride) {
		do_wait((long[]){ 2 });
		if (reap(start(call_and_die)) == 0)
			break;
		/* One signal is for the dead process, which may have waited. */
		for (int i = 0; i < 3; i++)
			api_cond_signal(&area->cond);
		ok = do_end(NULL) == 2;
		watchdog(call->name);
	}
	do_broadcast(NULL);
	do_end(NULL);
	tap_ok(ok && do_usable((long[]){ 0 }),
	       "%s, killed after any of %ld instructions", call->name, place);
}

/*
 * Runs in the midst of the stopped process's call. This process may have the
 * mutex, so it does not wait for long.
 */
static void let_other_act(void *arg)
{
	int nr = atomic_fetch_add(&area->nr_asked, 1) + 1;
	int64_t end = blocked_now_ns() + SETTLE_NS;

	while (area->nr_acted < nr && blocked_now_ns() < end)
		sched_yield();
}

static void call_and_stop(void)
{
	int64_t end = blocked_now_ns() + MOST_NS;

	place = 1 + random_below(&seed, STRIDE);
	do {
		if (!preempt_after(place, make_call, let_other_act, NULL))
			place = random_below(&seed, STRIDE);
		place += STRIDE;
		while (area->nr_acted < area->nr_asked)
			sched_yield();
	} while (blocked_now_ns() < end);
}

/* The child of this process is in the namespace, and has another id there. */
static void in_namespace(void)
{
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		_exit(TAP_SKIP);
	_exit(reap(start(call_and_stop)) ? TAP_FAIL : TAP_PASS);
}

static void wait_till_the_end(void)
{
	lock();
	while (!area->is_over)
		api_cond_wait(&area->cond, &area->mutex);
	api_mutex_unlock(&area->mutex);
}

static void test_namespaces(void)
{
	pid_t waiting, other;
	int status;

	watchdog(call->name);
	area_start("normal");
	waiting = start(wait_till_the_end);
	other = start(in_namespace);
	while (waitpid(other, &status, WNOHANG) == 0) {
		int nr = area->nr_asked;

		for (int i = 0; i < NR_OF(calls) && nr != area->nr_acted; i++)
			calls[i].act(NULL);
		area->nr_acted = nr;
		sched_yield();
	}
	area->is_over = true;
	do_broadcast_held(NULL);
	reap(waiting);
	if (status == TAP_SKIP << 8)
		tap_skip(call->name, "no pid namespace is permitted here");
	else
		tap_ok(status == 0,
		       "%s, stopped %d times for another pid namespace",
		       call->name, area->nr_acted);
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "seed");

	api_start(argv);
	if (!HANDLERS_ARE_PROMPT)
		return handlers_are_late();
	seed = args_get(&args, "seed", args_fresh_seed());
	tap_plan(NR_OF(scenes) + 2 * NR_OF(calls));
	tap_diag("seed=%" PRIu64, seed);
	for (int i = 0; i < NR_OF(scenes); i++) {
		watchdog(scenes[i].name);
		area_start(scenes[i].kind);
		tap_ok(steps_do(scenes[i].steps), "%s", scenes[i].name);
	}
	if (!PREEMPT_POSSIBLE)
		tap_skip_all(2 * NR_OF(calls), "stopped or killed in a call",
			     "this processor has no trap flag");
	for (int i = 0; PREEMPT_POSSIBLE && i < NR_OF(calls); i++) {
		call = &calls[i];
		test_killed();
		test_namespaces();
	}
	return tap_exit();
}
