// SPDX-License-Identifier: GPL-2.0-only
//
// drover::stream: a stream and its memory end with their scope, which waits for
// their operations; the program's memory can be used by the program again; and
// errors are thrown with the sentence that explains them.
#include <cerrno>
#include <string>
#include <vector>

#include <drover/stream.hpp>

#include "tap.h"

namespace
{

struct add {
	int *to;
	int number;
};

int add_run(const void *args)
{
	auto a = static_cast<const add *>(args);

	*a->to += a->number;
	return 0;
}

int fail_run(const void *)
{
	return ENOSPC;
}

void run(drover::stream &s, int (*run)(const void *), int *to)
{
	const drover_kernel_t kernel = { run, nullptr };
	const drover_access_t writes = { to, sizeof(int), DROVER_WRITE };
	const add args = { to, 1 };

	s.call(drover_stream_run, &kernel, &args, sizeof(args), &writes, 1,
	       nullptr);
}

// Return: the error of a call, or 0; @says gets the text of the exception.
template <class Function> int thrown(Function &&call, std::string *says)
{
	try {
		call();
	} catch (const std::system_error &e) {
		*says = e.what();
		return e.code().value();
	}
	return 0;
}

void test_memory()
{
	std::vector<int> own(16, 1);
	std::string says;
	int result = 40;

	{
		drover::stream s;
		auto memory = s.alloc(sizeof(int));
		auto to = static_cast<int *>(memory.get());
		auto declared = s.take(drover_stream_declare, own.data(), 64);

		s.call(drover_stream_copy_staged, to, &result, sizeof(result),
		       nullptr);
		run(s, add_run, to);
		run(s, add_run, own.data());
		s.call(drover_stream_copy, &result, to, sizeof(result));
		tap_is(result, 41, "a copy, a kernel, and a copy back");
		tap_is(thrown([&] { s.take(drover_stream_pin, &own[3], 4); },
			      &says),
		       EINVAL, "declared memory cannot be pinned as well");
		tap_ok(says.find("is known already") != std::string::npos, "%s",
		       says.c_str());
	}
	tap_is(own[0], 2, "the end of the scope has waited for operations");
	drover::stream s;
	tap_ok(s.take(drover_stream_pin, own.data(), 64) != nullptr,
	       "the memory can be pinned after the end of the scope");
}

void test_errors()
{
	drover::stream s;
	std::string says;
	int to;

	run(s, fail_run, &to);
	tap_is(thrown([&] { s.call(drover_stream_drain); }, &says), ENOSPC,
	       "the error of an operation is thrown");
	tap_ok(says.find("has failed before") != std::string::npos, "%s",
	       says.c_str());
}

} // namespace

int main()
{
	watchdog("drover::stream");
	tap_plan(7);
	test_memory();
	test_errors();
	return tap_exit();
}
