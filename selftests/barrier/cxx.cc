// SPDX-License-Identifier: GPL-2.0-only
//
// drover::barrier: a completion that may throw is refused by the compiler, since
// the threads that wait would wait for ever; and tokens can be asked after.
#include <cstddef>
#include <drover/barrier.hpp>
#include <functional>
#include <thread>
#include <type_traits>

#include "tap.h"

namespace
{

struct may_throw {
	void operator()() {}
};

struct may_not {
	void operator()() noexcept {}
};

template <class Completion>
constexpr bool is_taken = std::is_constructible_v<drover::barrier<Completion>,
						  std::ptrdiff_t, Completion>;

void test_completions()
{
	tap_ok(!is_taken<may_throw>, "one that may throw is refused");
	tap_ok(!is_taken<std::function<void()>>, "and so is std::function");
	tap_ok(!is_taken<void (*)()>, "and a function that may throw");
	tap_ok(is_taken<may_not>, "one that is noexcept is taken");
	tap_ok(is_taken<void (*)() noexcept>, "and such a function");
	tap_ok(std::is_constructible_v<drover::barrier<>, std::ptrdiff_t>,
	       "and none at all");
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
