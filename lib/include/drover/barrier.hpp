// SPDX-License-Identifier: MIT
//
// Drover's barrier for C++17, with the members of C++20's std::barrier.
//
//	drover::barrier meet(nr_threads, []() noexcept { swap_buffers(); });
//
//	each thread:
//		for (;;) {
//			work_on_my_part();
//			meet.arrive_and_wait();
//		}
//
// If a thread has other work to do between its arrival and its wait, it calls
// auto token = meet.arrive() before that work, and meet.wait(std::move(token))
// after it.
//
// Threads wait as <drover/barrier.h> says. The class differs from std::barrier
// in three ways:
//  1. A barrier may be destroyed as soon as one thread has returned from the
//     last phase.
//  2. Each token has to be waited for, or destroyed, before the barrier is
//     destroyed.
//  3. A call that <drover/barrier.h> does not allow throws a
//     std::system_error. Examples are a count of 0, and more arrivals at once
//     than the phase still needs.
#ifndef DROVER_BARRIER_HPP
#define DROVER_BARRIER_HPP

#include <cstddef>

#include <drover/barrier.h>
#include <drover/drover.hpp>

namespace drover
{

namespace detail
{

struct nothing {
	void operator()() noexcept {}
};

} // namespace detail

// The last thread to arrive in a phase calls Completion, before any thread goes
// on.
template <class Completion = detail::nothing> class barrier
{
public:
	class arrival_token
	{
		friend class barrier;
		struct forget {
			drover_phase_t phase;
			void operator()(drover_barrier_t *of) const
			{
				drover_barrier_forget(of, phase);
			}
		};
		arrival_token(drover_barrier_t *of, drover_phase_t phase)
			: of_(of, forget{ phase })
		{
		}

		std::unique_ptr<drover_barrier_t, forget> of_;
	};

	static constexpr std::ptrdiff_t max() noexcept
	{
		return DROVER_BARRIER_MAX;
	}

	// As with std::barrier, a Completion must be noexcept: if it threw, the
	// threads that wait for the phase would wait for ever.
	template <class C = Completion,
		  std::enable_if_t<std::is_nothrow_invocable_v<C &>, int> = 0>
	explicit barrier(std::ptrdiff_t count,
			 Completion completion = Completion())
		: completion_(std::move(completion))
	{
		drover_barrierattr_t attr = {};

		// A Completion that does nothing is left out: without a
		// completion, drover_barrier_wait() at a barrier for one thread
		// has nothing to do.
		if (!std::is_same_v<Completion, detail::nothing>) {
			attr.completion = complete;
			attr.arg = this;
		}
		detail::check(drover_barrier_init(&b_, to_count(count), &attr),
			      "barrier");
	}
	~barrier() { drover_barrier_destroy(&b_); }
	barrier(const barrier &) = delete;
	barrier &operator=(const barrier &) = delete;

	[[nodiscard]] arrival_token arrive(std::ptrdiff_t nr = 1)
	{
		drover_phase_t phase;

		detail::check(drover_barrier_arrive(&b_, to_count(nr), &phase),
			      "arrive");
		return arrival_token(&b_, phase);
	}

	void wait(arrival_token &&token) const
	{
		if (drover_barrier_t *of = token.of_.release())
			drover_barrier_wait_for(of,
						token.of_.get_deleter().phase);
	}

	// Return: whether the phase is complete. If so, the token is spent.
	bool try_wait(arrival_token &token) const
	{
		if (token.of_ &&
		    drover_barrier_test(token.of_.get(),
					token.of_.get_deleter().phase))
			return false;
		token.of_.release();
		return true;
	}

	void arrive_and_wait()
	{
		detail::check(drover_barrier_wait(&b_), "arrive_and_wait");
	}

	void arrive_and_drop()
	{
		detail::check(drover_barrier_arrive_and_drop(&b_),
			      "arrive_and_drop");
	}

	drover_barrier_t *native_handle() { return &b_; }

private:
	static unsigned int to_count(std::ptrdiff_t nr)
	{
		return nr < 0 || nr > max() ? 0 : static_cast<unsigned int>(nr);
	}

	static void complete(void *arg)
	{
		static_cast<barrier *>(arg)->completion_();
	}

	drover_barrier_t b_;
	Completion completion_;
};

} // namespace drover

#endif // DROVER_BARRIER_HPP
