// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that clone() or vfork() made shares its maker's thread id in the C
 * library, and a mutex that it locks has this id as its holder. Such a thread
 * may wait with the mutex, and so may its maker afterwards and the child of
 * _Fork(). The library has to ask for that id again in such a child if the
 * kernel wipes no memory there.
 *
 * APIs: drover pthread
 */
#include <sys/wait.h>

#include "api.h"
#include "blocked.h"
#include "futex_call.h"
#include "sandbox.h"

#define STACK_SIZE (256 * 1024)

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex;

/* Return: the result of a wait with the mutex, which should be ETIMEDOUT. */
static int time_out(pid_t (*unused)(void))
{
	return api_time_out(&cond, &mutex);
}

static int cloned(void *result)
{
	*(int *)result = time_out(NULL);
	syscall(SYS_exit, 0);
	return 0;
}

static int in_clone(pid_t (*unused)(void))
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

/* The child of a vfork() runs in this very frame until it ends. */
static int in_fork(pid_t (*forking)(void))
{
	pid_t pid = forking();
	int status;

	if (pid == 0)
		_exit(time_out(NULL));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		tap_bail("fork: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 34)
#define _Fork fork /* these versions have no _Fork() */
#endif

/* In the first and the fifth place the thread has not waited before. */
static const struct {
	const char *name;
	int (*wait)(pid_t (*forking)(void));
	pid_t (*forking)(void);
} places[] = {
	{ "a thread by clone()", in_clone, NULL },
	{ "the thread that called clone()", time_out, NULL },
	{ "a child of _Fork()", in_fork, _Fork },
	{ "a child of fork()", in_fork, fork },
	{ "a vfork()", in_fork, vfork },
	{ "the thread that called vfork()", time_out, NULL },
};

static int results[NR_OF(places)];

static void *wait_in(void *range)
{
	for (int i = ((int *)range)[0]; i < ((int *)range)[1]; i++)
		results[i] = places[i].wait(places[i].forking);
	return NULL;
}

static void test(const char *name, const char *unwiped)
{
	MUST(kind_mutex_init(&mutex, kind_named(name), false));
	watchdog(name);
	joined(thread_of(wait_in, (int[]){ 0, 4 }));
	joined(thread_of(wait_in, (int[]){ 4, NR_OF(places) }));
	for (int i = 0; i < NR_OF(places); i++)
		tap_is(results[i], ETIMEDOUT, "%s%s: in %s a wait times out",
		       name, unwiped, places[i].name);
}

int main(int argc, char **argv)
{
	int stage;

	api_start(argv);
	if (!STACKS_MAY_GO)
		return tap_skipped("threads by clone()",
				   "ThreadSanitizer does not know them");
	stage = run_go_on();
	if (stage < 0)
		tap_start();
	test("recursive", stage < 0 ? "" : ", unwiped");
	test("errorcheck", stage < 0 ? "" : ", unwiped");
	if (stage < 0 && run_unwiped(argv, 1))
		tap_skip("memory that is not wiped",
			 "this kernel has no seccomp filters");
	return tap_exit();
}
