/* SPDX-License-Identifier: MIT */
/*
 * A pool of 4 threads with std::condition_variable, as many programs have one:
 * pool BURST COUNT. The user submits BURST small tasks and waits for all of
 * them, COUNT times.
 */
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace
{

class Pool
{
public:
	explicit Pool(int nr)
	{
		for (int i = 0; i < nr; i++)
			threads.emplace_back([this] { run(); });
	}

	~Pool()
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			stop = true;
		}
		filled.notify_all();
		for (auto &thread : threads)
			thread.join();
	}

	void add(std::function<void()> task)
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			tasks.push_back(std::move(task));
			left++;
		}
		filled.notify_one();
	}

	void wait()
	{
		std::unique_lock<std::mutex> hold(lock);
		done.wait(hold, [this] { return left == 0; });
	}

private:
	void run()
	{
		std::unique_lock<std::mutex> hold(lock);
		for (;;) {
			filled.wait(hold,
				    [this] { return stop || !tasks.empty(); });
			if (tasks.empty())
				return;
			auto task = std::move(tasks.front());
			tasks.pop_front();
			hold.unlock();
			task();
			hold.lock();
			if (--left == 0)
				done.notify_all();
		}
	}

	std::mutex lock;
	std::condition_variable filled, done;
	std::deque<std::function<void()>> tasks;
	int left = 0;
	bool stop = false;
	std::vector<std::thread> threads;
};

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const int burst = atoi(argv[1]), count = atoi(argv[2]);
	Pool pool(4);

	for (int n = 0; n < count; n++) {
		for (int i = 0; i < burst; i++)
			pool.add([] {
				for (volatile int spins = 0; spins < 1000;)
					spins = spins + 1;
			});
		pool.wait();
	}
	return 0;
}
