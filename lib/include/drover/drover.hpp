// SPDX-License-Identifier: MIT
//
// Drover for C++17: drover::mutex meets the requirements Lockable and
// TimedLockable. The waits of drover::condition_variable take a drover::mutex,
// or a lock such as std::unique_lock<drover::mutex>. In the standard library
// only std::condition_variable_any takes more than one type of lock, so
// drover::condition_variable has the members of that class. The second class,
// drover::condition_variable_any, takes any lock, at the price of a second
// mutex.
//
//	std::unique_lock<drover::mutex> held(lock);
//	filled.wait(held, [&] { return !items.empty(); });
//
// <drover/cond.h> says when waiting threads are moved to the mutex instead of
// being woken.
//
// drover::condition_variable passes the predicate of a wait to
// drover_cond_await(): a thread that notifies with the mutex held evaluates the
// predicate, and does not wake waiters whose predicate is false. So a predicate
// must not depend on the thread that it runs in, must not lock, wait or notify,
// and must not unlock the mutex. If a predicate throws an exception, the wait
// throws this exception in the waiting thread.
//
// If lock() or a wait fails, it throws a std::system_error. An example is a
// wait with a mutex that is not held. unlock() and the try_ functions throw
// nothing.
#ifndef DROVER_DROVER_HPP
#define DROVER_DROVER_HPP

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <type_traits>
#include <utility>

#include <drover/cond.h>
#include <drover/mutex.h>

namespace drover
{

namespace detail
{

// barrier.hpp calls this, too. A negative @err is no error: it is
// DROVER_BARRIER_SERIAL, the result for the thread that arrived last.
inline void check(int err, const char *what)
{
	if (err > 0)
		throw std::system_error(err, std::generic_category(), what);
}

using std::chrono::steady_clock;
using std::chrono::system_clock;
using seconds_as_double = std::chrono::duration<double>;

// @time in nanoseconds, rounded up, but at least 0 and at most 292 years.
template <class Rep, class Period>
std::chrono::nanoseconds clamped(const std::chrono::duration<Rep, Period> &time)
{
	using namespace std::chrono;
	seconds_as_double about = time;

	// The limit is a second below the maximum, because rounding could carry
	// a longer time beyond the maximum.
	if (about >= nanoseconds::max() - seconds_as_double(1))
		return nanoseconds::max();
	return about.count() > 0 ? ceil<nanoseconds>(time) :
				   nanoseconds::zero();
}

// Now plus @timeout, which may be negative, or longer than the clock can
// represent.
template <class Rep, class Period>
steady_clock::time_point
after(const std::chrono::duration<Rep, Period> &timeout)
{
	auto now = steady_clock::now();

	return now + std::min(clamped(timeout),
			      steady_clock::time_point::max() - now);
}

// On Linux steady_clock is CLOCK_MONOTONIC. A deadline on a clock other than
// system_clock and steady_clock is translated: steady_clock measures the time
// that is left until the deadline.
template <class Clock>
inline constexpr clockid_t id_of =
	std::is_same_v<Clock, system_clock> ? CLOCK_REALTIME : CLOCK_MONOTONIC;
template <class Clock>
inline constexpr bool is_other = !std::is_same_v<Clock, system_clock> &&
				 !std::is_same_v<Clock, steady_clock>;

template <class Clock, class Duration>
struct timespec
to_timespec(const std::chrono::time_point<Clock, Duration> &deadline)
{
	if constexpr (is_other<Clock>) {
		seconds_as_double left =
			seconds_as_double(deadline.time_since_epoch()) -
			seconds_as_double(Clock::now().time_since_epoch());

		// If the deadline is far from now, a subtraction of the clock's
		// ticks could overflow.
		if (left.count() > 1e9 || left.count() <= 0)
			return to_timespec(after(left));
		return to_timespec(after(deadline - Clock::now()));
	}
	auto since = clamped(deadline.time_since_epoch()).count();

	return { static_cast<time_t>(since / 1000000000),
		 static_cast<long>(since % 1000000000) };
}

// A predicate in the form that drover_cond_await() takes. If it throws, in
// whichever thread, it counts as true, so that the waiting thread returns and
// can throw the exception.
template <class Predicate> struct awaited {
	Predicate &ready;
	std::exception_ptr thrown = nullptr;

	static bool is_true(void *self) noexcept
	{
		auto &a = *static_cast<awaited *>(self);

		try {
			return a.thrown || a.ready();
		} catch (...) {
			a.thrown = std::current_exception();
			return true;
		}
	}

	// Turn @err, the result of drover_cond_await(), into the wait's result.
	bool result(int err)
	{
		if (thrown)
			std::rethrow_exception(thrown);
		check(err == ETIMEDOUT ? 0 : err, "wait");
		return !err;
	}
};

// Waits that call other waits of Self, which is condition_variable or
// condition_variable_any. wait_for() calls wait_until(). wait() and
// wait_until() with a predicate call, in a loop, the function of the same name
// without one. Only condition_variable_any uses these loops, because it cannot
// pass a predicate to drover_cond_await(). Its waiters sleep with a mutex of
// its own. A thread that notifies holds this mutex, but perhaps not the lock of
// the waiting thread, which guards the data of the predicate.
template <class Self> class waits
{
public:
	template <class Lock, class Predicate>
	void wait(Lock &lock, Predicate ready)
	{
		while (!ready())
			static_cast<Self *>(this)->wait(lock);
	}

	template <class Lock, class Clock, class Duration, class Predicate>
	bool
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline,
		   Predicate ready)
	{
		auto self = static_cast<Self *>(this);

		while (!ready())
			if (self->wait_until(lock, deadline) ==
			    std::cv_status::timeout)
				return ready();
		return true;
	}

	template <class Lock, class Rep, class Period>
	std::cv_status
	wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &timeout)
	{
		return static_cast<Self *>(this)->wait_until(lock,
							     after(timeout));
	}

	template <class Lock, class Rep, class Period, class Predicate>
	bool wait_for(Lock &lock,
		      const std::chrono::duration<Rep, Period> &timeout,
		      Predicate ready)
	{
		return static_cast<Self *>(this)->wait_until(
			lock, after(timeout), std::move(ready));
	}
};

} // namespace detail

// A mutex that is not recursive. native_handle() is for the C functions.
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
		return try_lock_until(detail::after(timeout));
	}

	template <class Clock, class Duration>
	bool
	try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline)
	{
		for (;;) {
			auto at = detail::to_timespec(deadline);

			if (!drover_mutex_timedlock(&m_, detail::id_of<Clock>,
						    &at))
				return true;
			if (Clock::now() >= deadline)
				return false;
		}
	}

	native_handle_type native_handle() { return &m_; }

private:
	drover_mutex_t m_ = DROVER_MUTEX_INITIALIZER;
};

class condition_variable : public detail::waits<condition_variable>
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
		detail::awaited<Predicate> a{ ready };

		a.result(drover_cond_await(&c_, handle(lock), a.is_true, &a));
	}

	// If somebody sets the system's time, a deadline on system_clock comes
	// earlier or later, as the standard demands. A thread that was notified
	// returns no_timeout even if the deadline, translated or not, passes
	// before the return.
	template <class Lock, class Clock, class Duration>
	std::cv_status
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline)
	{
		auto at = detail::to_timespec(deadline);
		int err = drover_cond_clockwait(&c_, handle(lock),
						detail::id_of<Clock>, &at);

		if (err != ETIMEDOUT)
			detail::check(err, "wait");
		else if (!detail::is_other<Clock> || Clock::now() >= deadline)
			return std::cv_status::timeout;
		return std::cv_status::no_timeout;
	}

	template <class Lock, class Clock, class Duration, class Predicate>
	bool
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline,
		   Predicate ready)
	{
		detail::awaited<Predicate> a{ ready };
		int err;

		do {
			auto at = detail::to_timespec(deadline);

			err = drover_cond_await_until(&c_, handle(lock),
						      a.is_true, &a,
						      detail::id_of<Clock>,
						      &at);
		} while (err == ETIMEDOUT && detail::is_other<Clock> &&
			 Clock::now() < deadline);
		return a.result(err);
	}

	native_handle_type native_handle() { return &c_; }

private:
	static drover_mutex_t *handle(mutex &lock)
	{
		return lock.native_handle();
	}

	// A unique_lock that does not own its mutex must not wait.
	template <class Lock> static drover_mutex_t *handle(Lock &lock)
	{
		detail::check(lock.owns_lock() ? 0 : EPERM, "wait");
		return lock.mutex()->native_handle();
	}

	drover_cond_t c_ = DROVER_COND_INITIALIZER;
};

// A condition variable for any lock that has lock() and unlock(). The waiters
// sleep with a drover::mutex that belongs to the condition variable. So they
// are moved to this mutex, not to the caller's lock, and may then compete for
// the caller's lock.
class condition_variable_any : public detail::waits<condition_variable_any>
{
public:
	using waits::wait;
	using waits::wait_until;

	condition_variable_any() : own_(std::make_shared<mutex>()) {}
	condition_variable_any(const condition_variable_any &) = delete;
	condition_variable_any &
	operator=(const condition_variable_any &) = delete;

	void notify_one() noexcept
	{
		std::lock_guard<mutex> held(*own_);
		c_.notify_one();
	}

	void notify_all() noexcept
	{
		std::lock_guard<mutex> held(*own_);
		c_.notify_all();
	}

	template <class Lock> void wait(Lock &lock)
	{
		sleep(lock, [this](auto &held) { c_.wait(held); });
	}

	template <class Lock, class Clock, class Duration>
	std::cv_status
	wait_until(Lock &lock,
		   const std::chrono::time_point<Clock, Duration> &deadline)
	{
		auto status = std::cv_status::no_timeout;

		sleep(lock, [&](auto &held) {
			status = c_.wait_until(held, deadline);
		});
		return status;
	}

private:
	template <class Lock> struct relock {
		void operator()(Lock *lock) { lock->lock(); }
	};

	// As soon as this thread is notified, the condition variable may be
	// destroyed, but the thread still has to unlock the mutex own_. So the
	// thread keeps its own reference to this mutex.
	template <class Lock, class Wait> void sleep(Lock &lock, Wait wait)
	{
		std::shared_ptr<mutex> own = own_;
		// However the wait ends, the destructor of @again locks the
		// caller's lock. Before that, the destructor of @held has
		// unlocked @own.
		std::unique_ptr<Lock, relock<Lock>> again;
		std::unique_lock<mutex> held(*own);

		lock.unlock();
		again.reset(std::addressof(lock));
		wait(held);
	}

	condition_variable c_;
	std::shared_ptr<mutex> own_;
};

} // namespace drover

#endif // DROVER_DROVER_HPP
