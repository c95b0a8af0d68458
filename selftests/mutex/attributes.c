// SPDX-License-Identifier: GPL-2.0-only
/* What the attributes of drover_mutex_t promise. */
#include <drover/mutex.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "blocked.h"
#include "tap.h"

static const struct timespec past = { 0, 0 };

static drover_mutex_t mutex_with(uint32_t flags)
{
	drover_mutexattr_t attr = { .flags = flags };
	drover_mutex_t mutex;
	int err = drover_mutex_init(&mutex, &attr);

	if (err)
		tap_bail("init with flags %#x: %s", flags, strerror(err));
	return mutex;
}

struct errand {
	int (*call)(drover_mutex_t *);
	drover_mutex_t *mutex;
	int answer;
};

static void *errand_main(void *arg)
{
	struct errand *errand = arg;

	errand->answer = errand->call(errand->mutex);
	return NULL;
}

/* What another thread gets, which ends at once. */
static int from_another(int (*call)(drover_mutex_t *), drover_mutex_t *mutex)
{
	struct errand errand = { call, mutex, -1 };
	pthread_t thread;

	start_thread(&thread, errand_main, &errand);
	pthread_join(thread, NULL);
	return errand.answer;
}

static void test_bad_attributes(void)
{
	const uint32_t bad[] = {
		0x20, 1u << 31, DROVER_MUTEX_RECURSIVE | DROVER_MUTEX_ERRORCHECK
	};
	drover_mutex_t mutex;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		drover_mutexattr_t attr = { .flags = bad[i] };

		tap_is(drover_mutex_init(&mutex, &attr), EINVAL,
		       "init refuses flags %#" PRIx32, bad[i]);
	}
}

static void test_recursive(uint32_t more)
{
	drover_mutex_t m = mutex_with(DROVER_MUTEX_RECURSIVE | more);
	int err = drover_mutex_lock(&m);

	err |= drover_mutex_lock(&m);
	err |= drover_mutex_trylock(&m);
	err |= drover_mutex_timedlock(&m, CLOCK_REALTIME, &past);
	tap_is(err, 0, "recursive %#x: locked four times", more);
	for (int i = 0; i < 3; i++)
		err |= drover_mutex_unlock(&m);
	tap_ok(!err && from_another(drover_mutex_trylock, &m) == EBUSY,
	       "recursive %#x: unlocked thrice, still held", more);
	tap_ok(drover_mutex_unlock(&m) == 0 && drover_mutex_destroy(&m) == 0,
	       "recursive %#x: free after the fourth", more);
	tap_is(drover_mutex_unlock(&m), EPERM,
	       "recursive %#x: a fifth unlock is refused", more);
}

static void test_errorcheck(uint32_t more)
{
	drover_mutex_t m = mutex_with(DROVER_MUTEX_ERRORCHECK | more);

	drover_mutex_lock(&m);
	tap_is(drover_mutex_lock(&m), EDEADLK, "errorcheck %#x: lock again",
	       more);
	tap_is(drover_mutex_trylock(&m), EBUSY, "errorcheck %#x: try again",
	       more);
	tap_is(from_another(drover_mutex_unlock, &m), EPERM,
	       "errorcheck %#x: another cannot unlock", more);
	tap_is(drover_mutex_unlock(&m), 0, "errorcheck %#x: the holder can",
	       more);
}

/* A thread ends with the mutex held: free, wanted by nobody. */
static void test_dead_thread(void)
{
	drover_mutex_t m = mutex_with(DROVER_MUTEX_ROBUST);

	from_another(drover_mutex_lock, &m);
	watchdog("a dead holder");
	tap_is(drover_mutex_lock(&m), EOWNERDEAD, "robust: the holder ended");
	tap_is(drover_mutex_consistent(&m), 0, "robust: repaired");
	tap_is(drover_mutex_consistent(&m), EINVAL,
	       "robust: repaired once only");
	tap_is(drover_mutex_unlock(&m), 0, "robust: unlocked");
	tap_is(drover_mutex_lock(&m), 0, "robust: as good as new");
	drover_mutex_unlock(&m);

	from_another(drover_mutex_lock, &m);
	tap_is(drover_mutex_lock(&m), EOWNERDEAD, "robust: ended again");
	drover_mutex_unlock(&m);
	tap_is(drover_mutex_lock(&m), ENOTRECOVERABLE,
	       "robust: unlocked without repair, it is lost");
	tap_is(drover_mutex_trylock(&m), ENOTRECOVERABLE,
	       "robust: also to trylock");
}

/* A process is killed with the mutex held, while this one sleeps for it. */
static void test_killed_process(void)
{
	drover_mutex_t *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	pid_t holder;
	char byte;

	if (m == MAP_FAILED || pipe(ready))
		tap_bail("%s", strerror(errno));
	*m = mutex_with(DROVER_MUTEX_ROBUST | DROVER_MUTEX_SHARED);
	watchdog("a killed holder");
	holder = fork();
	if (holder == 0) {
		pid_t parent = getppid();

		drover_mutex_lock(m);
		if (write(ready[1], "", 1) != 1 ||
		    wait_blocked(parent, parent, m))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	if (holder < 0 || read(ready[0], &byte, 1) != 1)
		tap_bail("no holder: %s", strerror(errno));
	tap_is(drover_mutex_lock(m), EOWNERDEAD,
	       "robust, shared: the holder is killed while we sleep for it");
	drover_mutex_consistent(m);
	tap_is(drover_mutex_unlock(m), 0, "robust, shared: usable again");
	waitpid(holder, NULL, 0);
	munmap(m, sizeof(*m));
}

static void test_timed(uint32_t flags, clockid_t clock)
{
	drover_mutex_t m = mutex_with(flags);
	struct timespec soon;

	drover_mutex_lock(&m);
	clock_gettime(clock, &soon);
	tap_is(drover_mutex_timedlock(&m, clock, &soon), ETIMEDOUT,
	       "flags %#x, clock %d: a held mutex times out", flags, clock);
}

int main(void)
{
	tap_plan(3 + 8 + 8 + 8 + 2 + 4);
	test_bad_attributes();
	test_recursive(0);
	test_recursive(DROVER_MUTEX_PI);
	test_errorcheck(0);
	test_errorcheck(DROVER_MUTEX_PI);
	test_dead_thread();
	test_killed_process();
	test_timed(DROVER_MUTEX_SHARED, CLOCK_REALTIME);
	test_timed(DROVER_MUTEX_SHARED, CLOCK_MONOTONIC);
	test_timed(DROVER_MUTEX_PI, CLOCK_REALTIME);
	test_timed(DROVER_MUTEX_PI, CLOCK_MONOTONIC);
	return tap_exit();
}
