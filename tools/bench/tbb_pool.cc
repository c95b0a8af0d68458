// SPDX-License-Identifier: MIT
// oneTBB for pool-perf, whose harness is written in C.
#include <cstdint>
#include <cstdio>
#include <memory>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

static std::unique_ptr<tbb::global_control> control;
static std::unique_ptr<tbb::task_arena> arena;

extern "C" void tbb_pool_start(unsigned int threads)
{
	control = std::make_unique<tbb::global_control>(
		tbb::global_control::max_allowed_parallelism, threads);
	arena = std::make_unique<tbb::task_arena>(threads);
}

extern "C" void tbb_pool_for(std::size_t nr, void (*part)(std::size_t, void *),
			     void *arg)
{
	arena->execute([=] {
		tbb::parallel_for(
			tbb::blocked_range<std::size_t>(0, nr, 1),
			[=](const tbb::blocked_range<std::size_t> &range) {
				for (auto i = range.begin(); i < range.end();
				     i++)
					part(i, arg);
			},
			tbb::simple_partitioner());
	});
}

static void fork_parts(std::uint64_t depth, void (*part)(std::size_t, void *),
		       void *arg)
{
	if (depth)
		tbb::parallel_invoke([=] { fork_parts(depth - 1, part, arg); },
				     [=] { fork_parts(depth - 1, part, arg); });
	else
		part(0, arg);
}

extern "C" void tbb_pool_fork(std::uint64_t depth,
			      void (*part)(std::size_t, void *), void *arg)
{
	arena->execute([=] { fork_parts(depth, part, arg); });
}

extern "C" void tbb_pool_end(void)
{
	arena.reset();
	control.reset();
}

extern "C" const char *tbb_pool_version(void)
{
	static char text[32];

	std::snprintf(text, sizeof(text), "oneTBB %s", TBB_runtime_version());
	return text;
}
