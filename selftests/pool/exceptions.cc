// SPDX-License-Identifier: GPL-2.0-only
//
// Exceptions of tasks: drover::pool keeps them and throws them again. The C
// functions pass them on to a caller that runs a task or a part of a loop
// itself.
#include <atomic>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <drover/pool.hpp>

#include "tap.h"

#define NR_WORKERS 2
#define NR_TASKS   2000

static int thrown_by(drover::future<int> &of)
{
	try {
		of.get();
	} catch (const std::runtime_error &e) {
		return std::stoi(e.what());
	}
	return -1;
}

static void test_future()
{
	drover::pool workers(NR_WORKERS);
	auto text = workers.submit([] { return std::string("text"); });
	auto moved =
		workers.submit([p = std::make_unique<int>(42)] { return *p; });
	auto nothing = workers.submit([] {});
	std::vector<drover::future<int>> all;
	int nr_wrong = 0;

	tap_ok(text.get() == "text" && !text.valid(), "a future has a result");
	tap_is(moved.get(), 42,
	       "a future of a move-only function has a result");
	nothing.get();
	for (int i = 0; i < NR_TASKS; i++)
		all.push_back(workers.submit([i]() -> int {
			if (i % 3)
				throw std::runtime_error(std::to_string(i));
			return i;
		}));
	for (int i = 0; i < NR_TASKS; i++)
		nr_wrong += i % 3 ? thrown_by(all[i]) != i : all[i].get() != i;
	tap_is(nr_wrong, 0, "get() throws each task's exception");
	for (int i = 0; i < 100; i++)
		workers.submit([] { throw 1; });
	workers.wait_all();
	tap_ok(true, "exceptions of dropped futures are ignored");
}

static int nest(drover::pool &workers, int depth)
{
	if (!depth)
		throw std::runtime_error("64");
	return workers.submit([&] { return nest(workers, depth - 1); }).get() +
	       1;
}

static void test_nested()
{
	drover::pool workers(NR_WORKERS);
	int nr_wrong = 0;

	for (int i = 0; i < 100; i++) {
		auto outer = workers.submit([&] { return nest(workers, 64); });

		nr_wrong += thrown_by(outer) != 64;
	}
	tap_is(nr_wrong, 0, "an exception passes through 64 nested waits");
}

// A worker that is busy until release().
struct busy {
	std::atomic<bool> begun{ false }, go_on{ false };
	drover::future<void> held;

	explicit busy(drover::pool &workers)
	{
		held = workers.submit([this] {
			begun = true;
			while (!go_on)
				std::this_thread::yield();
		});
		while (!begun)
			std::this_thread::yield();
	}

	void release()
	{
		go_on = true;
		held.get();
	}
};

static void test_cancel()
{
	drover::pool workers(1);
	busy worker(workers);
	int err = 0;

	auto queued = workers.submit([] { return 1; });
	auto soon = std::chrono::steady_clock::now();
	tap_ok(!queued.ready() && !queued.wait_until(soon),
	       "a queued future is not ready, and a wait for it times out");
	tap_ok(queued.cancel() && queued.ready(),
	       "a queued future that is cancelled is ready");
	try {
		queued.get();
	} catch (const std::system_error &e) {
		err = e.code().value();
	}
	tap_is(err, ECANCELED, "a cancelled future throws ECANCELED");
	worker.release();
}

// The loop throws an exception of a helper or of the caller, when all parts
// have ended.
static void test_loop()
{
	drover::pool workers(NR_WORKERS);
	std::atomic<int> inside{ 0 };
	int nr_wrong = 0, sum = 0;

	for (int i = 0; i < 500; i++)
		try {
			workers.loop(0, 64, 1, [&](size_t begin, size_t) {
				inside++;
				sched_yield();
				inside--;
				if (begin == 20)
					throw std::runtime_error("20");
			});
			nr_wrong++;
		} catch (const std::runtime_error &) {
			nr_wrong += inside != 0;
		}
	tap_is(nr_wrong, 0, "a loop's exception comes when all parts ended");
	workers.loop(0, 1, 0, [&](size_t, size_t end) { sum += end; });
	tap_is(sum, 1, "a loop without an exception");
}

// An exception passes through the frames of the C functions.
static int throw_in_part(size_t, size_t, void *)
{
	throw 4711;
}

static int throw_it(void *)
{
	throw 4712;
}

template <class Function> static int thrown(Function function)
{
	try {
		function();
	} catch (int number) {
		return number;
	}
	return 0;
}

static void test_c()
{
	drover::pool workers(1);
	drover_pool_t *pool = workers.native_handle();
	drover_task_t task = DROVER_TASK_INITIALIZER(throw_it, nullptr);

	/* The caller runs the loop and the task; unwound.c has helpers. */
	busy worker(workers);
	tap_is(thrown([&] {
		       drover_pool_for(pool, 0, 2, 1, throw_in_part, nullptr);
	       }),
	       4711, "an exception passes through drover_pool_for()");
	drover_pool_submit(pool, &task);
	tap_is(thrown([&] { drover_pool_wait(pool, &task, nullptr); }), 4712,
	       "an exception passes through drover_pool_wait()");
	tap_is(drover_pool_test(pool, &task, nullptr), ECANCELED,
	       "the task that threw has ended");
	worker.release();
}

int main()
{
	tap_plan(4 + 1 + 3 + 2 + 3);
	watchdog("futures");
	test_future();
	watchdog("nested");
	test_nested();
	test_cancel();
	watchdog("loops");
	test_loop();
	watchdog("C functions");
	test_c();
	return tap_exit();
}
