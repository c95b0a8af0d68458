// SPDX-License-Identifier: GPL-2.0-only
/*
 * A debug build says what a caller does wrong, and aborts: condition variables
 * and mutexes that are NULL, unaligned, destroyed, overwritten, or destroyed
 * under their waiters. What has an errno value gets it, and loses no waiter.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "crew.h"
#include "deadline.h"
#include "watchdog.h"

static api_cond_t cond;
static api_mutex_t mutex;

/* Room for a condvar or mutex that does not begin where it should. */
static union {
	char bytes[sizeof(api_cond_t) + 1];
	uint64_t align;
} room;

#define UNALIGNED_COND	((api_cond_t *)(void *)(room.bytes + 1))
#define UNALIGNED_MUTEX ((api_mutex_t *)(void *)(room.bytes + 1))

/* Read where the compiler does not look. */
static void *volatile no_memory;

static void destroyed(void)
{
	api_cond_destroy(&cond);
}

static void overwritten(void)
{
	memset(&cond, 0xff, sizeof(cond));
}

static void as_it_is(void)
{
}

static void one_waits(void)
{
	static struct crew crew;

	crew = crew_of(&cond, &mutex, 1);
	crew_wait(&crew);
}

static void lock_and_wait(api_cond_t *with)
{
	api_mutex_lock(&mutex);
	api_cond_wait(with, &mutex);
}

static void wait_on(void)
{
	lock_and_wait(&cond);
}

static void wait_until(void)
{
	const struct timespec past = { 0, 0 };

	api_mutex_lock(&mutex);
	api_cond_timedwait(&cond, &mutex, &past);
}

static void signal_it(void)
{
	api_cond_signal(&cond);
}

static void broadcast_it(void)
{
	api_cond_broadcast(&cond);
}

static void wait_on_null(void)
{
	lock_and_wait(no_memory);
}

static void signal_null(void)
{
	api_cond_signal(no_memory);
}

static void wait_unaligned(void)
{
	lock_and_wait(UNALIGNED_COND);
}

static void broadcast_unaligned(void)
{
	api_cond_broadcast(UNALIGNED_COND);
}

static void wait_with_unaligned_mutex(void)
{
	api_cond_wait(&cond, UNALIGNED_MUTEX);
}

static void wait_without_deadline(void)
{
	api_mutex_lock(&mutex);
	api_cond_timedwait(&cond, &mutex, no_memory);
}

#if API_IS_PTHREAD
static void wait_unlocked(void)
{
	pthread_cond_wait(&cond, &mutex);
}
#else
static void mutex_destroyed(void)
{
	drover_mutex_destroy(&mutex);
}

static void lock_it(void)
{
	drover_mutex_lock(&mutex);
}

static void lock_without_deadline(void)
{
	drover_mutex_timedlock(&mutex, CLOCK_MONOTONIC, no_memory);
}
#endif

static const struct misuse {
	void (*begin)(void);
	void (*call)(void);
	const char *says; /* in the message */
} misuses[] = {
	{ destroyed, wait_on, "cond_wait(): condition variable" },
	{ destroyed, wait_on, "was destroyed" },
	{ destroyed, wait_until, "was destroyed" },
	{ destroyed, signal_it, "was destroyed" },
	{ destroyed, broadcast_it, "was destroyed" },
	{ destroyed, destroyed, "was destroyed" },
	{ overwritten, signal_it, "was never initialised, or is overwritten" },
	{ overwritten, wait_on, "was never initialised, or is overwritten" },
	{ one_waits, destroyed, "has threads waiting" },
	{ as_it_is, wait_on_null, "is NULL" },
	{ as_it_is, signal_null, "cond_signal(): condition variable" },
	{ as_it_is, wait_unaligned, "is not aligned" },
	{ as_it_is, broadcast_unaligned, "is not aligned" },
	{ as_it_is, wait_with_unaligned_mutex, "mutex" },
	{ as_it_is, wait_without_deadline, "deadline" },
#if API_IS_PTHREAD
	{ as_it_is, wait_unlocked, "is not held by the caller" },
#else
	{ mutex_destroyed, lock_it, "was destroyed" },
	{ as_it_is, lock_without_deadline, "mutex_timedlock(): deadline" },
#endif
};

#define NR_MISUSES ((int)(sizeof(misuses) / sizeof(misuses[0])))

static _Noreturn void be_wrong(const struct misuse *misuse, int err)
{
	const struct rlimit no_core = { 0, 0 };

	watchdog("in the child");
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(err, STDERR_FILENO);
	misuse->begin();
	misuse->call();
	_exit(0);
}

/* What it says before it aborts; empty if it does not. */
static void message_of(const struct misuse *misuse, char text[], size_t size)
{
	int ends[2], status;
	ssize_t len;
	pid_t pid;

	if (pipe(ends))
		tap_bail("pipe");
	pid = fork();
	if (pid == 0)
		be_wrong(misuse, ends[1]);
	close(ends[1]);
	len = read(ends[0], text, size - 1);
	close(ends[0]);
	text[len > 0 ? len : 0] = '\0';
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGABRT)
		text[0] = '\0';
}

static void test_misuse(const struct misuse *misuse)
{
	char text[512];

	message_of(misuse, text, sizeof(text));
	if (!tap_ok(strstr(text, "drover: ") && strstr(text, misuse->says),
		    "says \"%s\", and aborts", misuse->says))
		tap_diag("it said: %s", text);
}

/* Somebody waits, and somebody else gets it wrong, as errno can say. */
static void test_nobody_is_lost(void)
{
	const struct timespec below = { .tv_nsec = -1 };
	const struct timespec good = { .tv_nsec = 1 };
	struct crew crew = crew_of(&cond, &mutex, 1);
	bool ok;

	crew_wait(&crew);
	api_mutex_lock(&mutex);
	ok = api_cond_timedwait(&cond, &mutex, &below) == EINVAL &&
	     api_cond_clockwait(&cond, &mutex, 4711, &good) == EINVAL;
	api_mutex_unlock(&mutex);
	tap_ok(ok, "bad times and clocks: EINVAL");
	tap_is(crew_count(&crew, AT_COND), 1, "who waits waits on");
	api_cond_signal(&cond);
	crew_gone(&crew, 1);
	tap_is(crew_results(&crew, 0), 1, "and is signalled");
	crew_end(&crew);
}

int main(void)
{
	tap_plan(NR_MISUSES + 3);
	watchdog("bad input");
	api_cond_init(&cond);
	api_mutex_init(&mutex);
	for (int i = 0; i < NR_MISUSES; i++)
		test_misuse(&misuses[i]);
	test_nobody_is_lost();
	return tap_exit();
}
