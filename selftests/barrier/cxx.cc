// SPDX-License-Identifier: GPL-2.0-only
//
// drover::barrier: the compiler refuses a completion that may throw, because
// the waiting threads would then wait for ever; and a token says whether its
// phase is complete.
#include <cstddef>
#include <drover/barrier.hpp>
#include <functional>
#include <thread>
#include <type_traits>

#include "tap.h"

namespace
{

struct may_throw {
	void operator()()
	{
	}
};

struct may_not {
	void operator()() noexcept
	{
	}
};

template <class Completion>
constexpr bool is_taken = std::is_constructible_v<drover::barrier<Completion>,
						  std::ptrdiff_t, Completion>;

void test_completions()
{
	tap_ok(!is_taken<may_throw>, "an object that may throw is refused");
	tap_ok(!is_taken<std::function<void()>>, "a std::function is refused");
	tap_ok(!is_taken<void (*)()>, "a function that may throw is refused");
	tap_ok(is_taken<may_not>, "an object that is noexcept is taken");
	tap_ok(is_taken<void (*)() noexcept>,
	       "a function that is noexcept is taken");
	tap_ok(std::is_constructible_v<drover::barrier<>, std::ptrdiff_t>,
	       "a barrier needs no completion");
}

void test_two_threads()
{
	int completed = 0;
	auto complete = [&completed]() noexcept { completed++; };
	drover::barrier meet(2, complete);
	bool early = true;

	std::thread other([&meet] { meet.arrive_and_wait(); });
	auto token = meet.arrive();
	while (!meet.try_wait(token))
		std::this_thread::yield();
	early = completed != 1;
	other.join();
	tap_ok(!early, "a phase is complete once its completion has run");
}

} // namespace

int main()
{
	watchdog("drover::barrier");
	tap_plan(7);
	test_completions();
	test_two_threads();
	return tap_exit();
}
