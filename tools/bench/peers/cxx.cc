// SPDX-License-Identifier: MIT
// std::condition_variable and std::mutex of the C++ library.
#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#include "peer.h"

static_assert(sizeof(std::mutex) <= sizeof(peer_mutex), "mutex");
static_assert(sizeof(std::condition_variable) <= sizeof(peer_cond), "cond");

static std::mutex *mu(peer_mutex *mutex)
{
	return reinterpret_cast<std::mutex *>(mutex);
}

static std::condition_variable *cv(peer_cond *cond)
{
	return reinterpret_cast<std::condition_variable *>(cond);
}

extern "C" {
extern const char peer_name[] = "cxx";
extern const char peer_help[] = "std::condition_variable and std::mutex";

const char *peer_version(void)
{
	return PEER_VERSION;
}

const char *peer_library(void)
{
	void (std::condition_variable::*member)() noexcept =
		&std::condition_variable::notify_all;
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
	new (mutex) std::mutex;
}

void peer_mutex_destroy(peer_mutex *mutex)
{
	mu(mutex)->~mutex();
}

void peer_mutex_lock(peer_mutex *mutex)
{
	mu(mutex)->lock();
}

void peer_mutex_unlock(peer_mutex *mutex)
{
	mu(mutex)->unlock();
}

void peer_cond_init(peer_cond *cond)
{
	new (cond) std::condition_variable;
}

void peer_cond_destroy(peer_cond *cond)
{
	cv(cond)->~condition_variable();
}

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

void peer_cond_signal(peer_cond *cond)
{
	cv(cond)->notify_one();
}

void peer_cond_broadcast(peer_cond *cond)
{
	cv(cond)->notify_all();
}
}
