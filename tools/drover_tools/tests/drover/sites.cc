// SPDX-License-Identifier: MIT
/* Calls of the C++ library's condition variable, for stat.py. */
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable *there;
static int nr;
static bool consuming;

__attribute__((noinline)) void consume()
{
	std::unique_lock<std::mutex> held(lock);

	consuming = true;
	there->wait(held, [] { return nr > 0; });
	nr--;
}

/* Return: whether the other thread waits. */
__attribute__((noinline)) bool be_late()
{
	std::unique_lock<std::mutex> held(lock);

	there->wait_for(held, std::chrono::milliseconds(1),
			[] { return false; });
	return consuming;
}

__attribute__((noinline)) void produce()
{
	std::lock_guard<std::mutex> held(lock);

	nr++;
	there->notify_all();
}

int main()
{
	there = new std::condition_variable;
	std::thread thread(consume);
	while (!be_late())
		;
	produce();
	thread.join();
	delete there;
	return 0;
}
