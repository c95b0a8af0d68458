// SPDX-License-Identifier: MIT
//
// onnxruntime's class ThreadPool over drover_pool_t, with the members that
// onnxruntime's own tests use (onnxruntime_test runs them). onnxruntime differs from
// a drover_pool_t in three ways:
//
//  - A parallel section begins and ends with an object, and the same threads serve
//    all loops in between. A gang (drover_loop_t) keeps its threads, too, but runs
//    one function with barriers. Here a section does nothing, which onnxruntime says
//    of its own section with OpenMP.
//  - Schedule() runs the function itself if its queue is full. Here no queue is ever
//    full.
//  - Affinities are text. Here they are cpu_sets in drover_poolattr_t.
#ifndef ONNXRUNTIME_POOL_HPP
#define ONNXRUNTIME_POOL_HPP

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include <drover/pool.h>

namespace onnxruntime
{

// Empty here: the pool makes its threads by itself.
struct Env {
	static Env &Default()
	{
		static Env env;
		return env;
	}
};

struct ThreadOptions {
	unsigned int stack_size = 0;
	int dynamic_block_base_ = 0;
};

// Wait() returns when Notify() has been called @count times.
class Barrier
{
public:
	explicit Barrier(unsigned int count) : left_(count)
	{
	}
	void Notify()
	{
		std::lock_guard<std::mutex> lock(mutex_);
		if (--left_ == 0)
			all_.notify_all();
	}
	void Wait()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		all_.wait(lock, [this] { return left_ == 0; });
	}

private:
	std::mutex mutex_;
	std::condition_variable all_;
	unsigned int left_;
};

namespace concurrency
{

class ThreadPool
{
public:
	using Part = std::function<void(std::ptrdiff_t)>;
	using Range = std::function<void(std::ptrdiff_t, std::ptrdiff_t)>;

	// @degree: how many threads, including the caller of a loop
	ThreadPool(Env *, const ThreadOptions &options, const char *name,
		   int degree, bool spins, bool = false)
		: degree_(degree), block_base_(options.dynamic_block_base_)
	{
		drover_poolattr_t attr = {};

		attr.workers =
			static_cast<unsigned int>(std::max(degree, 2)) - 1;
		attr.stack = options.stack_size;
		attr.name = name;
		check(drover_pool_create(&pool_, &attr));
		if (!spins)
			DisableSpinning();
	}
	// Functions that were scheduled run first, and those that they schedule.
	~ThreadPool()
	{
		drover_pool_shutdown(pool_, DROVER_POOL_DRAIN);
		drover_pool_free(pool_);
	}
	ThreadPool(const ThreadPool &) = delete;
	ThreadPool &operator=(const ThreadPool &) = delete;

	struct ParallelSection {
		explicit ParallelSection(ThreadPool *)
		{
		}
	};

	void EnableSpinning()
	{
		check(drover_pool_set_linger(pool_, 0, 0));
	}
	void DisableSpinning()
	{
		check(drover_pool_set_linger(pool_, DROVER_POOL_NO_LINGER,
					     DROVER_POOL_NO_LINGER));
	}
	static int DegreeOfParallelism(const ThreadPool *pool)
	{
		return pool ? pool->degree_ : 1;
	}
	static bool ShouldParallelize(const ThreadPool *pool)
	{
		return DegreeOfParallelism(pool) > 1;
	}

	static void Schedule(ThreadPool *pool, std::function<void()> function)
	{
		if (!ShouldParallelize(pool))
			return function();
		auto copy = std::make_unique<std::function<void()>>(
			std::move(function));
		check(drover_pool_post(pool->pool_, run, copy.get()));
		copy.release();
	}

	// Calls @range for blocks of indices. The pool chooses their length, unless
	// the options do.
	static void TryParallelFor(ThreadPool *pool, std::ptrdiff_t total,
				   double, const Range &range)
	{
		if (total <= 0)
			return;
		if (!ShouldParallelize(pool))
			return range(0, total);

		drover_loop_t loop = {};
		auto threads = static_cast<std::size_t>(pool->degree_);
		auto base = static_cast<std::size_t>(pool->block_base_);

		loop.function = run_range;
		loop.arg = const_cast<Range *>(&range);
		loop.threads = static_cast<unsigned int>(threads);
		if (base)
			loop.grain = static_cast<std::size_t>(total) /
				     (threads * base);
		check(drover_pool_loop(pool->pool_, 0,
				       static_cast<std::size_t>(total), &loop));
	}
	static void TrySimpleParallelFor(ThreadPool *pool, std::ptrdiff_t total,
					 const Part &part)
	{
		TryParallelFor(pool, total, 0,
			       [&](std::ptrdiff_t i, std::ptrdiff_t end) {
				       for (; i < end; i++)
					       part(i);
			       });
	}
	// In @batches batches, whose lengths differ by one at most; 0: one for each
	// thread.
	static void TryBatchParallelFor(ThreadPool *pool, std::ptrdiff_t total,
					const Part &part,
					std::ptrdiff_t batches)
	{
		if (batches <= 0)
			batches = DegreeOfParallelism(pool);
		batches = std::min(batches, total);
		TrySimpleParallelFor(pool, batches, [&](std::ptrdiff_t batch) {
			std::ptrdiff_t each = total / batches;
			std::ptrdiff_t more = total % batches;
			std::ptrdiff_t i = each * batch + std::min(batch, more);
			std::ptrdiff_t end = i + each + (batch < more);

			for (; i < end; i++)
				part(i);
		});
	}

private:
	static void check(int err)
	{
		if (err)
			throw std::system_error(err, std::generic_category());
	}
	static int run(void *arg)
	{
		std::unique_ptr<std::function<void()>> function(
			static_cast<std::function<void()> *>(arg));

		(*function)();
		return 0;
	}
	static int run_range(std::size_t begin, std::size_t end,
			     const drover_part_t *, void *range)
	{
		(*static_cast<const Range *>(range))(
			static_cast<std::ptrdiff_t>(begin),
			static_cast<std::ptrdiff_t>(end));
		return 0;
	}

	drover_pool_t *pool_ = nullptr;
	int degree_, block_base_;
};

} // namespace concurrency
} // namespace onnxruntime

#endif // ONNXRUNTIME_POOL_HPP
