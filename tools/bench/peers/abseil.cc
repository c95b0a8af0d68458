// SPDX-License-Identifier: MIT
// Abseil: absl::Mutex and absl::CondVar.
#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

struct peer {
	using mutex = absl::Mutex;
	using cond = absl::CondVar;
	static constexpr auto lock = &mutex::Lock;
	static constexpr auto unlock = &mutex::Unlock;
	static constexpr auto signal = &cond::Signal;
	static constexpr auto broadcast = &cond::SignalAll;
};

#include "peer.hpp"

const char peer_name[] = "abseil";
const char peer_help[] = "absl::CondVar and absl::Mutex";

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

void peer_await(peer_mutex *mutex, bool (*predicate)(void *arg), void *arg)
{
	mu(mutex)->Await(absl::Condition(predicate, arg));
}
