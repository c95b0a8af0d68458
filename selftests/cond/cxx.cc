// SPDX-License-Identifier: GPL-2.0-only
//
// The C++ headers: drover::mutex meets the standard's requirements Lockable and
// TimedLockable, and both condition variables are used as programs use
// std::condition_variable_any, with deadlines on several clocks. They may be
// destroyed as soon as all waiters are unblocked.
#include <drover/condition_variable.hpp>

#include <atomic>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <type_traits>

#include "tap.h"

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// Promises that the compiler can check.
static_assert(std::is_nothrow_default_constructible_v<drover::mutex>);
static_assert(
	std::is_nothrow_default_constructible_v<drover::condition_variable>);
static_assert(std::is_nothrow_destructible_v<drover::condition_variable>);
static_assert(std::is_nothrow_destructible_v<drover::condition_variable_any>);
static_assert(!std::is_copy_constructible_v<drover::mutex>);
static_assert(!std::is_move_constructible_v<drover::condition_variable>);
static_assert(
	noexcept(std::declval<drover::condition_variable &>().notify_all()));
static_assert(
	noexcept(std::declval<drover::condition_variable &>().notify_one()));

// These objects have constant initialisers, so they need no constructor to run.
static drover::mutex global_mutex;
static drover::condition_variable global_cond;

namespace
{

// A clock of the test, 4000 seconds ahead, in milliseconds.
struct odd_clock {
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<odd_clock>;
	[[maybe_unused]] static constexpr bool is_steady = true;

	static time_point now()
	{
		return time_point(
			std::chrono::duration_cast<duration>(
				steady_clock::now().time_since_epoch()) +
			4000s);
	}
};

// A lock with no more functions than BasicLockable asks for.
struct basic_lock : private std::mutex {
	using std::mutex::lock;
	using std::mutex::unlock;
};

template <class Function> bool elsewhere(Function function)
{
	bool result = false;

	std::thread([&] { result = function(); }).join();
	return result;
}

bool is_locked(drover::mutex &mutex)
{
	return elsewhere([&] {
		std::unique_lock<drover::mutex> held(mutex, std::try_to_lock);

		return !held.owns_lock();
	});
}

void test_lockable()
{
	drover::mutex one, two;

	{
		std::scoped_lock<drover::mutex, drover::mutex> held(one, two);

		tap_ok(is_locked(one) && is_locked(two),
		       "std::scoped_lock of two mutexes");
	}
	std::unique_lock<drover::mutex> held(one, std::defer_lock);

	tap_ok(!is_locked(one) && !is_locked(two), "both are free afterwards");
	held.lock();
	held.unlock();
	tap_ok(held.try_lock() && is_locked(one), "std::unique_lock, deferred");
}

void test_timed_lockable()
{
	drover::mutex mutex;
	std::unique_lock<drover::mutex> held(mutex);

	tap_ok(elsewhere([&] {
		       using time_point = steady_clock::time_point;
		       using hours =
			       std::chrono::duration<long, std::ratio<3600>>;

		       return !(mutex.try_lock_for(1ms) ||
				mutex.try_lock_for(-1ns) ||
				mutex.try_lock_for(hours::min()) ||
				mutex.try_lock_until(time_point::min()) ||
				mutex.try_lock_until(steady_clock::now() +
						     1ms) ||
				mutex.try_lock_until(system_clock::now() +
						     1ms) ||
				mutex.try_lock_until(odd_clock::now() + 1ms));
	       }),
	       "try_lock_for and _until give up in time");
	held.unlock();
	tap_ok(elsewhere([&] {
		       return std::unique_lock<drover::mutex>(mutex, 1h)
			       .owns_lock();
	       }),
	       "a free mutex is locked at once");
}

// All kinds of wait for a flag.
constexpr int nr_ways = 7;

template <class Cond, class Lock, class Ready>
bool wait_by(int way, Cond &cond, Lock &lock, Ready ready)
{
	switch (way) {
	case 0:
		cond.wait(lock, ready);
		return true;
	case 1:
		while (!ready())
			cond.wait(lock);
		return true;
	case 2:
		return cond.wait_for(lock, std::chrono::hours::max(), ready);
	case 3:
		return cond.wait_until(lock, steady_clock::now() + 1h, ready);
	case 4:
		return cond.wait_until(lock, system_clock::now() + 1h, ready);
	case 5:
		return cond.wait_until(lock, odd_clock::now() + 1h, ready);
	default:
		return cond.wait_until(lock, steady_clock::time_point::max()) ==
		       std::cv_status::no_timeout;
	}
}

// Threads that wait for a flag.
template <class Cond, class Mutex, class Lock = std::unique_lock<Mutex>>
struct scene {
	std::optional<Cond> cond{ std::in_place };
	Mutex mutex;
	bool ready = false, hands_on = false;
	int nr_waiting = 0, nr_true = 0;
	std::list<std::thread> threads;

	void start(int way)
	{
		const int nr = nr_waiting + 1;

		threads.emplace_back([this, way] {
			Lock lock(mutex);

			nr_waiting++;
			nr_true += wait_by(way, *cond, lock,
					   [this] { return ready; });
			if (hands_on)
				cond->notify_one();
		});
		for (Lock lock(mutex); nr_waiting < nr; lock.lock())
			lock.unlock();
	}
	void join()
	{
		for (auto &thread : threads)
			thread.join();
	}
};

// The condvar is destroyed and made anew before its waiters have returned.
template <class Scene> void test_notify_all(const char *name)
{
	Scene s;

	for (int way = 0; way < nr_ways; way++)
		s.start(way);
	{
		std::unique_lock<decltype(s.mutex)> held(s.mutex);

		s.ready = true;
		s.cond->notify_all();
		s.cond.emplace();
	}
	s.join();
	tap_is(s.nr_true, nr_ways,
	       "%s: notify_all ends all kinds of wait, and destroys at once",
	       name);
}

template <class Scene> void test_notify_one(const char *name)
{
	Scene s;

	s.hands_on = true;
	for (int i = 0; i < 3; i++)
		s.start(0);
	{
		std::unique_lock<decltype(s.mutex)> held(s.mutex);

		s.ready = true;
	}
	s.cond->notify_one();
	s.join();
	tap_is(s.nr_true, 3,
	       "%s: notify_one unblocks one waiter, which notifies the next",
	       name);
}

template <class Clock, class Cond, class Lock>
bool times_out(Cond &cond, Lock &lock)
{
	const auto timeout = std::cv_status::timeout;
	const auto soon = Clock::now() + 1ms;

	return cond.wait_until(lock, Clock::time_point::min()) == timeout &&
	       cond.wait_until(lock, soon) == timeout && Clock::now() >= soon &&
	       !cond.wait_until(lock, soon, [] { return false; });
}

template <class Scene> void test_timeouts(const char *name)
{
	const auto timeout = std::cv_status::timeout;
	Scene s;
	std::unique_lock<decltype(s.mutex)> lock(s.mutex);
	auto &cond = *s.cond;

	tap_ok(cond.wait_for(lock, 1ms) == timeout &&
		       cond.wait_for(lock, std::chrono::hours::min()) ==
			       timeout &&
		       !cond.wait_for(lock, 1ms, [] { return false; }),
	       "%s: wait_for times out", name);
	tap_ok(times_out<steady_clock>(cond, lock),
	       "%s: wait_until on steady_clock, not before its time", name);
	tap_ok(times_out<system_clock>(cond, lock),
	       "%s: wait_until on system_clock", name);
	tap_ok(times_out<odd_clock>(cond, lock),
	       "%s: wait_until on the program's own clock", name);
	tap_ok(lock.owns_lock() && cond.wait_for(lock, 0s, [] { return true; }),
	       "%s: the lock is held afterwards", name);
}

template <class Call> int error_of(Call call)
{
	try {
		call();
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

// Misuse throws an exception.
void test_errors()
{
	std::unique_lock<drover::mutex> none(global_mutex, std::defer_lock);
	std::unique_lock<drover::mutex> empty;

	tap_is(error_of([&] { global_cond.wait(none); }), EPERM,
	       "a wait without the mutex throws");
	tap_is(error_of([&] { global_cond.wait(empty); }), EPERM,
	       "a wait with a lock that has no mutex throws");
	tap_is(error_of([&] { global_cond.wait_for(global_mutex, 1ms); }),
	       EPERM, "a wait with a drover::mutex that is not held throws");
	global_mutex.lock();
	tap_ok(global_cond.wait_for(global_mutex, 1ms) ==
		       std::cv_status::timeout,
	       "a drover::mutex is a lock by itself");
	global_mutex.unlock();
}

// A predicate that throws leaves the lock held, and the condvar usable.
void test_any()
{
	drover::condition_variable_any cond;
	drover::mutex lock;
	basic_lock basic;
	bool thrown = false;

	lock.lock();
	try {
		cond.wait_for(lock, 1ms, []() -> bool { throw 42; });
	} catch (int) {
		thrown = is_locked(lock);
	}
	lock.unlock();
	tap_ok(thrown, "a predicate that throws leaves the lock held");
	basic.lock();
	cond.wait_for(basic, 1ms);
	basic.unlock();

	std::shared_mutex mutex;
	std::shared_lock<std::shared_mutex> held(mutex);

	tap_ok(cond.wait_for(held, 1ms) == std::cv_status::timeout &&
		       held.owns_lock(),
	       "condition_variable_any: a std::shared_lock");
}

// A predicate runs in the thread that notifies. An exception that it throws
// there comes out of the wait.
void test_predicates()
{
	using namespace drover::standard;
	struct on_purpose {
	};
	condition_variable cond;
	mutex lock;
	std::atomic<int> nr_waiting = 0;
	int nr_elsewhere = 0, nr_caught = 0, state = 0;

	std::thread waiting([&] {
		unique_lock held(lock);
		auto self = std::this_thread::get_id();

		nr_waiting = 1;
		cond.wait(held, [&] {
			nr_elsewhere += std::this_thread::get_id() != self;
			return state == 1;
		});
		nr_waiting = 2;
		try {
			cond.wait_for(held, 1h, [&] {
				if (state == 2)
					throw on_purpose();
				return false;
			});
		} catch (const on_purpose &) {
			nr_caught += held.owns_lock();
		}
	});

	auto notify = [&](int after, int value) {
		unique_lock held(lock);

		while (nr_waiting < after) {
			held.unlock();
			std::this_thread::yield();
			held.lock();
		}
		state = value;
		value == 2 ? cond.notify_all() : cond.notify_one();
	};

	notify(1, 0);
	notify(1, 1);
	notify(2, 2);
	waiting.join();
	tap_is(nr_elsewhere, 2, "a predicate runs in the thread that notifies");
	tap_is(nr_caught, 1, "the wait throws what its predicate threw there");
}

template <class Scene> void test_scene(const char *name)
{
	test_notify_all<Scene>(name);
	test_notify_one<Scene>(name);
	test_timeouts<Scene>(name);
}

} // namespace

int main()
{
	using any = drover::condition_variable_any;

	tap_plan(3 + 2 + 3 * 7 + 4 + 2 + 2);
	/* A test that hangs is killed, and fails. */
	alarm(60);
	test_lockable();
	test_timed_lockable();
	test_scene<scene<drover::condition_variable, drover::mutex>>(
		"condition_variable");
	test_scene<scene<any, drover::mutex>>("condition_variable_any");
	test_scene<scene<any, basic_lock>>("any lock");
	test_errors();
	test_any();
	test_predicates();
	return tap_exit();
}
