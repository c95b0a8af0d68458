// SPDX-License-Identifier: MIT
// onnxruntime's thread pool for pool-perf, whose harness is written in C: its own
// threadpool.cc, compiled alone, and here what it calls of the rest of onnxruntime.
#include <cstddef>
#include <memory>

#include "core/common/common.h"
#include "core/common/cpuid_info.h"
#include "core/platform/threadpool.h"

using onnxruntime::concurrency::ThreadPool;

namespace onnxruntime
{

std::vector<std::string> GetStackTrace()
{
	return {};
}

bool SetDenormalAsZero(bool)
{
	return false;
}

CPUIDInfo::CPUIDInfo()
{
}

} // namespace onnxruntime

static onnxruntime::Env env;
static std::unique_ptr<ThreadPool> pool;

extern "C" void ort_pool_start(unsigned int threads, bool spins)
{
	pool = std::make_unique<ThreadPool>(&env, onnxruntime::ThreadOptions(),
					    nullptr, static_cast<int>(threads),
					    spins);
}

extern "C" void ort_pool_for(std::size_t nr, void (*part)(std::size_t, void *),
			     void *arg)
{
	ThreadPool::TrySimpleParallelFor(
		pool.get(), static_cast<std::ptrdiff_t>(nr),
		[=](std::ptrdiff_t i) {
			part(static_cast<std::size_t>(i), arg);
		});
}

extern "C" void ort_pool_end(void)
{
	pool.reset();
}

extern "C" const char *ort_pool_version(void)
{
	return ORT_VERSION;
}
