// SPDX-License-Identifier: MIT
/* A process is killed while it waits on a process-shared condition variable. */
#include "stuck.h"

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	atomic_int tid;
};

static struct shared *shared;

static void make_shared(void)
{
	pthread_mutexattr_t for_mutex;
	pthread_condattr_t for_cond;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	pthread_mutexattr_init(&for_mutex);
	pthread_mutexattr_setpshared(&for_mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &for_mutex);
	pthread_condattr_init(&for_cond);
	pthread_condattr_setpshared(&for_cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->cond, &for_cond);
}

static void wait_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_lock(&shared->mutex);
	atomic_store(&shared->tid, own_tid());
	pthread_cond_wait(&shared->cond, &shared->mutex);
	_exit(0);
}

int main(void)
{
	unsigned long ignored = 0;
	int pid;

	watch();
	make_shared();
	pid = fork();
	if (!pid)
		wait_for_ever();
	while (!atomic_load(&shared->tid) || nr_asleep(pid, &ignored) != 1)
		sched_yield();
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	soon_stuck(1);
	pthread_cond_destroy(&shared->cond);
	return 0;
}
