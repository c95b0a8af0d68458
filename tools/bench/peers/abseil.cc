// SPDX-License-Identifier: MIT
// Abseil: absl::Mutex and absl::CondVar.
#include <dlfcn.h>

#include <new>

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "peer.h"

static_assert(sizeof(absl::Mutex) <= sizeof(peer_mutex), "mutex");
static_assert(sizeof(absl::CondVar) <= sizeof(peer_cond), "cond");

static absl::Mutex *mu(peer_mutex *mutex)
{
	return reinterpret_cast<absl::Mutex *>(mutex);
}

static absl::CondVar *cv(peer_cond *cond)
{
	return reinterpret_cast<absl::CondVar *>(cond);
}

extern "C" {
extern const char peer_name[] = "abseil";
extern const char peer_help[] = "absl::CondVar and absl::Mutex";

const char *peer_version(void)
{
	return PEER_VERSION;
}

const char *peer_library(void)
{
	void (absl::CondVar::*member)() = &absl::CondVar::SignalAll;
	void *address;
	Dl_info info;

	// The first word of a pointer to a plain member function.
	__builtin_memcpy(&address, &member, sizeof(address));
	if (!dladdr(address, &info) || !info.dli_fname)
		return "linked statically";
	return info.dli_fname;
}

void peer_mutex_init(peer_mutex *mutex)
{
	new (mutex) absl::Mutex;
}

void peer_mutex_destroy(peer_mutex *mutex)
{
	mu(mutex)->~Mutex();
}

void peer_mutex_lock(peer_mutex *mutex)
{
	mu(mutex)->Lock();
}

void peer_mutex_unlock(peer_mutex *mutex)
{
	mu(mutex)->Unlock();
}

void peer_cond_init(peer_cond *cond)
{
	new (cond) absl::CondVar;
}

void peer_cond_destroy(peer_cond *cond)
{
	cv(cond)->~CondVar();
}

void peer_cond_wait(peer_cond *cond, peer_mutex *mutex)
{
	cv(cond)->Wait(mu(mutex));
}

bool peer_cond_timedwait(peer_cond *cond, peer_mutex *mutex, int64_t seconds,
			 long nanoseconds)
{
	struct timespec deadline = { seconds, nanoseconds };

	return cv(cond)->WaitWithDeadline(mu(mutex),
					  absl::TimeFromTimespec(deadline));
}

void peer_cond_signal(peer_cond *cond)
{
	cv(cond)->Signal();
}

void peer_cond_broadcast(peer_cond *cond)
{
	cv(cond)->SignalAll();
}
}
