// SPDX-License-Identifier: MIT
//
// drover::barrier in place of std::barrier, with a completion function, both ways
// to arrive, and a thread that drops out.
//
//	c++ -std=c++17 barrier.cc -ldrover -pthread
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include <drover/barrier.hpp>

int main()
{
	constexpr int nr_threads = 3, nr_phases = 100;
	int phases = 0; // only the completion function writes it
	drover::barrier meet(nr_threads, [&phases]() noexcept { phases++; });
	std::vector<std::thread> threads;
	std::vector<int> wrong(nr_threads);

	for (int nr = 0; nr < nr_threads; nr++)
		threads.emplace_back([&, nr] {
			for (int i = 1; i <= nr_phases; i++) {
				// The first thread drops out half-way.
				if (nr == 0 && i == nr_phases / 2) {
					meet.arrive_and_drop();
					return;
				}
				if (i % 2)
					meet.arrive_and_wait();
				else
					meet.wait(meet.arrive());
				wrong[nr] += phases < i;
			}
		});
	for (auto &thread : threads)
		thread.join();

	bool refused = false;
	try {
		drover::barrier<> none(0);
	} catch (const std::system_error &) {
		refused = true;
	}
	std::printf("phases: %d, early: %d, a count of 0 %s\n", phases,
		    wrong[0] + wrong[1] + wrong[2],
		    refused ? "is refused" : "is taken");
	return 0;
}
