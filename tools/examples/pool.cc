// SPDX-License-Identifier: MIT
//
// drover::pool: results and exceptions of tasks come back to the thread that
// waits.
//
//	c++ -std=c++17 pool.cc -ldrover -pthread
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <drover/pool.hpp>

static int parse(const char *text)
{
	int number = std::atoi(text);

	if (!number)
		throw std::invalid_argument(text);
	return number;
}

int main()
{
	drover::pool workers;
	std::vector<drover::future<int>> numbers;
	std::vector<int> squares(1000);
	int sum = 0;

	for (const char *text : { "17", "4", "none", "21" })
		numbers.push_back(workers.submit([=] { return parse(text); }));
	for (auto &number : numbers)
		try {
			sum += number.get();
		} catch (const std::invalid_argument &wrong) {
			std::printf("not a number: %s\n", wrong.what());
		}

	workers.loop(0, squares.size(), 0, [&](size_t begin, size_t end) {
		for (; begin < end; begin++)
			squares[begin] = static_cast<int>(begin * begin);
	});
	std::printf("sum: %d, 999 squared: %d\n", sum, squares[999]);
	return 0;
}
