// SPDX-License-Identifier: MIT
//
// Drover's stream for C++17: streams and their memory end with their scope. An
// error is thrown as a std::system_error, with the sentence that
// drover_stream_why() returns.
//
//	drover::stream s;
//	auto input = s.alloc(bytes);
//
//	s.call(drover_stream_copy_staged, input.get(), ids, bytes, nullptr);
//	s.call(drover_stream_run, &kernel, &args, sizeof(args), accesses, 2,
//	       nullptr);
//	s.call(drover_stream_copy, logits, output.get(), output_bytes);
//
// <drover/stream.h> says which calls wait. Tickets and events need no
// destructor: they are the C types.
#ifndef DROVER_STREAM_HPP
#define DROVER_STREAM_HPP

#include <cstddef>

#include <drover/drover.hpp>
#include <drover/stream.h>

namespace drover
{

namespace detail
{

struct give_back {
	drover_stream_t *by;
	void operator()(void *memory) const
	{
		drover_stream_free(by, memory);
	}
};

} // namespace detail

// Memory of a stream. A stream_memory must be destroyed before its stream. If
// it was made by take(), its destructor gives the memory back to the program.
using stream_memory = std::unique_ptr<void, detail::give_back>;

// The destructor waits for all operations. A program that wants to know whether
// an operation has failed calls drover_stream_drain() before the destructor.
class stream
{
public:
	explicit stream(const drover_streamattr_t &attr = {})
	{
		call(drover_stream_create, &attr);
	}
	~stream()
	{
		drover_stream_destroy(&name_);
	}
	stream(const stream &) = delete;
	stream &operator=(const stream &) = delete;

	// Calls a function of <drover/stream.h>: the stream is the first
	// argument, and @given are the others.
	template <class... Wanted, class... Given>
	void call(int (*function)(drover_stream_t *, Wanted...),
		  Given &&...given)
	{
		detail::check(function(&name_, std::forward<Given>(given)...),
			      drover_stream_why());
	}

	stream_memory alloc(std::size_t bytes)
	{
		void *memory;

		call(drover_stream_alloc, bytes, &memory);
		return stream_memory(memory, { &name_ });
	}
	// For memory that the program allocated; @as is drover_stream_pin or
	// drover_stream_declare.
	stream_memory take(int (*as)(drover_stream_t *, void *, std::size_t),
			   void *memory, std::size_t bytes)
	{
		call(as, memory, bytes);
		return stream_memory(memory, { &name_ });
	}
	drover_stream_t *native_handle()
	{
		return &name_;
	}

private:
	drover_stream_t name_ = {};
};

} // namespace drover

#endif // DROVER_STREAM_HPP
