// SPDX-License-Identifier: MIT
// std::condition_variable and std::mutex of the C++ library.
#include <chrono>
#include <condition_variable>
#include <mutex>

struct peer {
	using mutex = std::mutex;
	using cond = std::condition_variable;
	static constexpr auto lock = &mutex::lock;
	static constexpr auto unlock = &mutex::unlock;
	static constexpr auto signal = &cond::notify_one;
	static constexpr auto broadcast = &cond::notify_all;
};

#include "peer.hpp"

const char peer_name[] = "cxx";
const char peer_help[] = "std::condition_variable and std::mutex";

void peer_cond_wait(peer_cond *cond, peer_mutex *mutex)
{
	// Owned already, and still owned by the caller afterwards.
	std::unique_lock<std::mutex> lock(*mu(mutex), std::adopt_lock);

	cv(cond)->wait(lock);
	lock.release();
}

bool peer_cond_timedwait(peer_cond *cond, peer_mutex *mutex, int64_t seconds,
			 long nanoseconds)
{
	std::unique_lock<std::mutex> lock(*mu(mutex), std::adopt_lock);
	std::chrono::system_clock::time_point deadline(
		std::chrono::seconds(seconds) +
		std::chrono::nanoseconds(nanoseconds));
	std::cv_status status = cv(cond)->wait_until(lock, deadline);

	lock.release();
	return status == std::cv_status::timeout;
}
