// SPDX-License-Identifier: MIT
// The functions of peer.h for peers in C++, whose classes differ in little but
// names. The file of a peer first defines these names:
//
//	struct peer {
//		using mutex = ...
//		using cond = ...
//		static constexpr auto lock = &mutex::...
//		static constexpr auto unlock = &mutex::...
//		static constexpr auto signal = &cond::...
//		static constexpr auto broadcast = &cond::...
//	};
//
// It then includes this header, and last defines what is left: peer_name,
// peer_help, peer_cond_wait() and peer_cond_timedwait(), which find their
// objects by mu() and cv().
#ifndef BENCH_PEER_HPP
#define BENCH_PEER_HPP

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <new>

#include "peer.h"

static_assert(sizeof(peer::mutex) <= sizeof(peer_mutex), "mutex");
static_assert(sizeof(peer::cond) <= sizeof(peer_cond), "cond");

static peer::mutex *mu(peer_mutex *mutex)
{
	return reinterpret_cast<peer::mutex *>(mutex);
}

static peer::cond *cv(peer_cond *cond)
{
	return reinterpret_cast<peer::cond *>(cond);
}

const char *peer_version(void)
{
	return PEER_VERSION;
}

const char *peer_library(void)
{
	auto member = peer::broadcast;
	void *address;
	Dl_info info;

	// The first word of a pointer to a plain member function.
	std::memcpy(&address, &member, sizeof(address));
	if (!dladdr(address, &info) || !info.dli_fname)
		return "linked statically";
	return info.dli_fname;
}

void peer_mutex_init(peer_mutex *mutex)
{
	new (mutex) peer::mutex;
}

void peer_mutex_destroy(peer_mutex *mutex)
{
	std::destroy_at(mu(mutex));
}

void peer_mutex_lock(peer_mutex *mutex)
{
	(mu(mutex)->*peer::lock)();
}

void peer_mutex_unlock(peer_mutex *mutex)
{
	(mu(mutex)->*peer::unlock)();
}

void peer_cond_init(peer_cond *cond)
{
	new (cond) peer::cond;
}

void peer_cond_destroy(peer_cond *cond)
{
	std::destroy_at(cv(cond));
}

void peer_cond_signal(peer_cond *cond)
{
	(cv(cond)->*peer::signal)();
}

void peer_cond_broadcast(peer_cond *cond)
{
	(cv(cond)->*peer::broadcast)();
}

#endif
