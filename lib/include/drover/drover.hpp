// SPDX-License-Identifier: MIT
//
// Drover for C++17: drover::mutex meets the requirements Lockable and
// TimedLockable, and drover::condition_variable has the members of
// std::condition_variable_any, for drover::mutex and for any lock over one.
//
//	drover::mutex lock;
//	drover::condition_variable filled;
//	std::queue<int> items;
//
//	consumer:
//		std::unique_lock<drover::mutex> held(lock);
//		filled.wait(held, [&] { return !items.empty(); });
//	producer:
//		std::scoped_lock<drover::mutex> held(lock);
//		items.push(1);
//		filled.notify_one();
//
// Waits are moved to the mutex, not woken, under the rules of <drover/cond.h>.
// Errors that mean a broken contract, such as waiting with a mutex that is not
// held, are std::system_error.
#ifndef DROVER_DROVER_HPP
#define DROVER_DROVER_HPP

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include <drover/cond.h>
#include <drover/mutex.h>

namespace drover
{

namespace detail
{

inline void check(int err, const char *what)
{
	if (err)
		throw std::system_error(err, std::generic_category(), what);
}

// steady_clock is CLOCK_MONOTONIC on Linux.
inline struct timespec
to_timespec(std::chrono::steady_clock::time_point deadline)
{
	using namespace std::chrono;
	auto since = deadline.time_since_epoch();
	auto whole = duration_cast<seconds>(since);

	if (whole > since)
		whole -= seconds(1);
	return { static_cast<time_t>(whole.count()),
		 static_cast<long>(nanoseconds(since - whole).count()) };
}

// What is left until a deadline on any clock, as a deadline on steady_clock;
// one that is too far away becomes the furthest there is.
template <class Clock, class Duration>
std::chrono::steady_clock::time_point
steady(const std::chrono::time_point<Clock, Duration> &deadline)
{
	using namespace std::chrono;
	auto now = steady_clock::now();
	duration<double> left = deadline - Clock::now();
	duration<double> most = steady_clock::time_point::max() - now;

	if (left >= most)
		return steady_clock::time_point::max();
	return now + ceil<steady_clock::duration>(deadline - Clock::now());
}

template <class Rep, class Period>
std::chrono::steady_clock::time_point
after(const std::chrono::duration<Rep, Period> &timeout)
{
	using namespace std::chrono;
	auto now = steady_clock::now();
	duration<double> most = steady_clock::time_point::max() - now;

	if (duration<double>(timeout) >= most)
		return steady_clock::time_point::max();
	return now + ceil<steady_clock::duration>(timeout);
}

} // namespace detail

// Not recursive. native_handle() is for the C functions.
class mutex
{
public:
	using native_handle_type = drover_mutex_t *;

	constexpr mutex() noexcept = default;
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

	void lock() { detail::check(drover_mutex_lock(&m_), "lock"); }
	bool try_lock() { return drover_mutex_trylock(&m_) == 0; }
	void unlock() { drover_mutex_unlock(&m_); }

	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &timeout)
	{
		return try_lock_steady(detail::after(timeout));
	}

	template <class Clock, class Duration>
	bool
	try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline)
	{
		while (!try_lock_steady(detail::steady(deadline)))
			if (Clock::now() >= deadline)
				return false;
		return true;
	}

	native_handle_type native_handle() { return &m_; }

private:
	bool try_lock_steady(std::chrono::steady_clock::time_point deadline)
	{
		auto at = detail::to_timespec(deadline);

		return drover_mutex_timedlock(&m_, CLOCK_MONOTONIC, &at) == 0;
	}

	drover_mutex_t m_ = DROVER_MUTEX_INITIALIZER;
};

class condition_variable
{
public:
	using native_handle_type = drover_cond_t *;

	constexpr condition_variable() noexcept = default;
	~condition_variable() { drover_cond_destroy(&c_); }
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept { drover_cond_signal(&c_); }
	void notify_all() noexcept { drover_cond_broadcast(&c_); }

	template <class Lock> void wait(Lock &lock)
	{
		detail::check(drover_cond_wait(&c_, handle(lock)), "wait");
	}

	template <class Lock, class Predicate>
	void wait(Lock &lock, Predicate ready)
	{
		while (!ready())
			wait(lock);
	}

	template <class Lock, class Clock, class Duration>
	std::cv_status
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline)
	{
		wait_steady(lock, detail::steady(deadline));
		return Clock::now() < deadline ? std::cv_status::no_timeout
					       : std::cv_status::timeout;
	}

	template <class Lock, class Clock, class Duration, class Predicate>
	bool
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline,
		   Predicate ready)
	{
		while (!ready())
			if (wait_until(lock, deadline) ==
			    std::cv_status::timeout)
				return ready();
		return true;
	}

	template <class Lock, class Rep, class Period>
	std::cv_status
	wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &timeout)
	{
		return wait_steady(lock, detail::after(timeout));
	}

	template <class Lock, class Rep, class Period, class Predicate>
	bool wait_for(Lock &lock,
		      const std::chrono::duration<Rep, Period> &timeout,
		      Predicate ready)
	{
		return wait_until(lock, detail::after(timeout), ready);
	}

	native_handle_type native_handle() { return &c_; }

private:
	static drover_mutex_t *handle(mutex &lock)
	{
		return lock.native_handle();
	}

	// A unique_lock that owns nothing has no business here.
	template <class Lock> static drover_mutex_t *handle(Lock &lock)
	{
		detail::check(lock.owns_lock() ? 0 : EPERM, "wait");
		return lock.mutex()->native_handle();
	}

	template <class Lock>
	std::cv_status wait_steady(Lock &lock,
				   std::chrono::steady_clock::time_point until)
	{
		auto at = detail::to_timespec(until);
		int err = drover_cond_clockwait(&c_, handle(lock),
						CLOCK_MONOTONIC, &at);

		if (err == ETIMEDOUT)
			return std::cv_status::timeout;
		detail::check(err, "wait");
		return std::cv_status::no_timeout;
	}

	drover_cond_t c_ = DROVER_COND_INITIALIZER;
};

} // namespace drover

#endif // DROVER_DROVER_HPP
