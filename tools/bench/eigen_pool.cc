// SPDX-License-Identifier: MIT
// Eigen's thread pool, which onnxruntime's is made from, for pool-perf, whose harness is
// written in C. Its loop is what onnxruntime does with it: each worker is given one
// function, and all take parts until there are none left, the caller, too.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>

#include <eigen3/unsupported/Eigen/CXX11/ThreadPool>

static std::unique_ptr<Eigen::ThreadPool> pool;

extern "C" void eigen_pool_start(unsigned int threads, bool spins)
{
	if (threads > 1)
		pool = std::make_unique<Eigen::ThreadPool>(
			static_cast<int>(threads - 1), spins);
}

extern "C" void eigen_pool_for(std::size_t nr,
			       void (*part)(std::size_t, void *), void *arg)
{
	int nr_helpers = pool ? pool->NumThreads() : 0;
	Eigen::Barrier ended(static_cast<unsigned int>(nr_helpers));
	std::atomic<std::size_t> next{ 0 };
	auto take_parts = [&] {
		for (std::size_t i; (i = next++) < nr;)
			part(i, arg);
	};

	for (int i = 0; i < nr_helpers; i++)
		pool->Schedule([&] {
			take_parts();
			ended.Notify();
		});
	take_parts();
	ended.Wait();
}

extern "C" void eigen_pool_end(void)
{
	pool.reset();
}

extern "C" const char *eigen_pool_version(void)
{
	static char text[32];

	std::snprintf(text, sizeof(text), "Eigen %d.%d.%d", EIGEN_WORLD_VERSION,
		      EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
	return text;
}
