// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread by clone() or vfork() has the C library's id of the thread that made
 * it, and the holder of a mutex is who that id says: a wait with it is
 * permitted in there, in its maker afterwards, and in the child of _Fork().
 *
 * APIs: drover pthread
 */
#include <sys/wait.h>

#include "api.h"
#include "blocked.h"
#include "futex_call.h"

#define NR_KINDS   2
#define STACK_SIZE (256 * 1024)

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex;

/* What a wait with the mutex comes to; ETIMEDOUT is right. */
static int time_out(void)
{
	return api_time_out(&cond, &mutex);
}

static int cloned(void *result)
{
	*(int *)result = time_out();
	syscall(SYS_exit, 0);
	return 0;
}

static int in_clone(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
			  CLONE_CHILD_CLEARTID;
	static _Atomic uint32_t tid;
	char *stack = malloc(STACK_SIZE);
	uint32_t seen;
	int result = -1;

	if (!stack || clone(cloned, stack + STACK_SIZE, flags, &result, &tid,
			    NULL, &tid) < 0)
		tap_bail("clone: %s", strerror(errno));
	while ((seen = tid))
		sys_futex_wait(&tid, 0, seen, NULL);
	free(stack);
	return result;
}

/* The child of a vfork() is in this very frame until it ends. */
static int in_fork(pid_t (*forking)(void))
{
	pid_t pid = forking();
	int status;

	if (pid == 0)
		_exit(time_out());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		tap_bail("fork: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 34)
#define _Fork fork /* there is none yet */
#endif

/* In a thread that has not waited yet. */
static void *make_others(void *results)
{
	int *result = results;

	*result++ = in_clone();
	*result++ = time_out();
	*result++ = in_fork(_Fork);
	*result++ = in_fork(fork);
	return NULL;
}

static void *make_child(void *results)
{
	int *result = results;

	*result++ = in_fork(vfork);
	*result++ = time_out();
	return NULL;
}

static const char *const places[] = {
	"a thread by clone()", "its maker", "a child of _Fork()",
	"a child of fork()",   "a vfork()", "its caller",
};

static void test(const char *name)
{
	int results[NR_OF(places)];

	MUST(kind_mutex_init(&mutex, kind_named(name), false));
	watchdog(name);
	joined(thread_of(make_others, results));
	joined(thread_of(make_child, &results[4]));
	for (int i = 0; i < NR_OF(places); i++)
		tap_is(results[i], ETIMEDOUT, "%s: in %s a wait times out",
		       name, places[i]);
}

int main(int argc, char **argv)
{
	api_start(argv);
	if (!STACKS_MAY_GO)
		return tap_skipped("threads by clone()",
				   "ThreadSanitizer does not know them");
	tap_plan(NR_KINDS * NR_OF(places));
	test("recursive");
	test("errorcheck");
	return tap_exit();
}
