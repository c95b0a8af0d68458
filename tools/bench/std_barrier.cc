// SPDX-License-Identifier: MIT
// std::barrier for barrier-perf, whose harness is written in C.
#include <barrier>

extern "C" void *std_barrier_new(unsigned int count)
{
	return new std::barrier<>(count);
}

extern "C" void std_barrier_delete(void *b)
{
	delete static_cast<std::barrier<> *>(b);
}

extern "C" void std_barrier_wait(void *b)
{
	static_cast<std::barrier<> *>(b)->arrive_and_wait();
}
