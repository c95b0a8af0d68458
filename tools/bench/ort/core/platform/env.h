// SPDX-License-Identifier: MIT
//
// What onnxruntime's thread pool needs of its class Env, in place of its own header,
// which brings the rest of onnxruntime with it: threads.
#ifndef BENCH_ORT_ENV_H
#define BENCH_ORT_ENV_H

#include <thread>
#include <vector>

namespace Eigen
{
class ThreadPoolInterface;
}

namespace onnxruntime
{

struct ThreadOptions {
	unsigned int stack_size = 0;
	std::vector<std::vector<int>> affinities;
	bool set_denormal_as_zero = false;
	int dynamic_block_base_ = 0;
};

class Env
{
public:
	class EnvThread
	{
	public:
		template <class... Of>
		explicit EnvThread(Of... of) : thread_(of...)
		{
		}
		~EnvThread()
		{
			thread_.join();
		}

	private:
		std::thread thread_;
	};

	EnvThread *
	CreateThread(const char *, int index,
		     unsigned (*run)(int, Eigen::ThreadPoolInterface *),
		     Eigen::ThreadPoolInterface *pool, const ThreadOptions &)
	{
		return new EnvThread(run, index, pool);
	}
};

} // namespace onnxruntime

#endif // BENCH_ORT_ENV_H
