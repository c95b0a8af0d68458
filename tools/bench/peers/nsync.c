// SPDX-License-Identifier: MIT
/* nsync: its own mutex, whose waiters a signal or broadcast joins. */
#include <errno.h>
#include <nsync.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "peer.h"

const char peer_name[] = "nsync";
const char peer_help[] = "nsync_cv and nsync_mu";

_Static_assert(sizeof(nsync_mu) <= sizeof(struct peer_mutex), "mutex");
_Static_assert(sizeof(nsync_cv) <= sizeof(struct peer_cond), "cond");

static nsync_mu *mu(struct peer_mutex *mutex)
{
	return (nsync_mu *)mutex;
}

static nsync_cv *cv(struct peer_cond *cond)
{
	return (nsync_cv *)cond;
}

const char *peer_version(void)
{
	return PEER_VERSION;
}

const char *peer_library(void)
{
	return bench_file_of((void (*)(void))nsync_cv_broadcast);
}

void peer_mutex_init(struct peer_mutex *mutex)
{
	nsync_mu_init(mu(mutex));
}

/* Nothing to be given back. */
void peer_mutex_destroy(struct peer_mutex *mutex)
{
	memset(mutex, 0, sizeof(*mutex));
}

void peer_mutex_lock(struct peer_mutex *mutex)
{
	nsync_mu_lock(mu(mutex));
}

void peer_mutex_unlock(struct peer_mutex *mutex)
{
	nsync_mu_unlock(mu(mutex));
}

void peer_cond_init(struct peer_cond *cond)
{
	nsync_cv_init(cv(cond));
}

void peer_cond_destroy(struct peer_cond *cond)
{
	memset(cond, 0, sizeof(*cond));
}

void peer_cond_wait(struct peer_cond *cond, struct peer_mutex *mutex)
{
	nsync_cv_wait(cv(cond), mu(mutex));
}

bool peer_cond_timedwait(struct peer_cond *cond, struct peer_mutex *mutex,
			 int64_t seconds, long nanoseconds)
{
	nsync_time deadline = { .tv_sec = seconds, .tv_nsec = nanoseconds };

	return nsync_cv_wait_with_deadline(cv(cond), mu(mutex), deadline,
					   NULL) == ETIMEDOUT;
}

struct condition {
	bool (*predicate)(void *arg);
	void *arg;
};

static int condition_true(const void *arg)
{
	const struct condition *condition = arg;

	return condition->predicate(condition->arg);
}

void peer_await(struct peer_mutex *mutex, bool (*predicate)(void *arg),
		void *arg)
{
	struct condition condition = { predicate, arg };

	nsync_mu_wait(mu(mutex), condition_true, &condition, NULL);
}

void peer_cond_signal(struct peer_cond *cond)
{
	nsync_cv_signal(cv(cond));
}

void peer_cond_broadcast(struct peer_cond *cond)
{
	nsync_cv_broadcast(cv(cond));
}
