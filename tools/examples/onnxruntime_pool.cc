// SPDX-License-Identifier: MIT
//
// An operator of onnxruntime uses its thread pool, which is a drover_pool_t here:
// see onnxruntime_pool.hpp.
//
//	c++ -std=c++17 onnxruntime_pool.cc -ldrover -pthread
#include <atomic>
#include <cstdio>

#include "onnxruntime_pool.hpp"

using onnxruntime::concurrency::ThreadPool;

int main()
{
	std::atomic<long> sum{ 0 };
	onnxruntime::Barrier scheduled(1);
	ThreadPool pool(&onnxruntime::Env::Default(), {}, "operators", 4, true);

	ThreadPool::Schedule(&pool, [&] {
		sum += 1000000;
		scheduled.Notify();
	});
	for (int loop = 0; loop < 10; loop++)
		ThreadPool::TryBatchParallelFor(
			&pool, 1000, [&](std::ptrdiff_t i) { sum += i; }, 7);
	ThreadPool::TryParallelFor(nullptr, 10, 0,
				   [&](std::ptrdiff_t i, std::ptrdiff_t end) {
					   sum += end - i;
				   });
	scheduled.Wait();
	std::printf("sum: %ld\n", sum.load());
}
