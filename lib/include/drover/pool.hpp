// SPDX-License-Identifier: MIT
//
// Drover's thread pool for C++17. A task is any callable. An exception that
// leaves a task is thrown again in the thread that waits for the task.
//
//	drover::pool workers;
//	auto answer = workers.submit([] { return compute(); });
//
//	workers.loop(0, rows, 0, [&](size_t begin, size_t end) { ... });
//	use(answer.get());
//
// Threads wait as <drover/pool.h> says. The pool throws its own errors as
// std::system_error. The code is ECANCELED if the task was cancelled, and
// EAGAIN if the waiting thread is a worker that must go on to run tasks. After
// EAGAIN the worker may wait again.
#ifndef DROVER_POOL_HPP
#define DROVER_POOL_HPP

#include <atomic>
#include <cstddef>
#include <cxxabi.h>
#include <exception>
#include <future>
#include <thread>

#include <drover/drover.hpp>
#include <drover/pool.h>

namespace drover
{

namespace detail
{

// A task whose result or exception is kept.
template <class Result> struct work {
	drover_pool_t *pool;
	drover_task_t task = {};
	std::packaged_task<Result()> call;

	template <class Function>
	work(drover_pool_t *to, Function &&f)
		: pool(to), call(std::forward<Function>(f))
	{
		drover_task_init(&task, run, this);
	}
	static int run(void *arg)
	{
		static_cast<work *>(arg)->call();
		return 0;
	}
	int wait() { return drover_pool_wait(pool, &task, nullptr); }
};

// Deletes a struct work after its task has ended: until then the pool uses its
// memory.
struct finish {
	template <class Result> void operator()(work<Result> *work)
	{
		while (work->wait() == EAGAIN)
			std::this_thread::yield();
		delete work;
	}
};

// The parts of a loop, and the first exception that one of them has thrown.
template <class Function> struct parts {
	Function &function;
	std::atomic<bool> failed{ false };
	std::exception_ptr error;

	static int run(std::size_t begin, std::size_t end, void *arg)
	{
		auto *self = static_cast<parts *>(arg);

		try {
			self->function(begin, end);
			return 0;
		} catch (abi::__forced_unwind &) {
			throw; // the thread ends
		} catch (...) {
			if (!self->failed.exchange(true))
				self->error = std::current_exception();
			return ECANCELED;
		}
	}
};

} // namespace detail

// A submitted task. ~future() waits for the task or runs it. An assignment to a
// future does the same with the future's old task. A task that is run in this
// way must not call pthread_exit().
template <class Result> class future
{
public:
	future() = default;

	bool valid() const noexcept { return work_ != nullptr; }
	bool ready() const
	{
		return drover_pool_test(work_->pool, &work_->task, nullptr) !=
		       EBUSY;
	}
	// Return: true if the task was cancelled, false if it had begun before.
	bool cancel()
	{
		return drover_pool_cancel(work_->pool, &work_->task) == 0;
	}
	void wait()
	{
		int err = work_->wait();

		if (err != ECANCELED)
			detail::check(err, "wait");
	}
	// Return: whether the task has ended by the deadline.
	bool wait_until(std::chrono::steady_clock::time_point deadline)
	{
		auto ts = detail::to_timespec(deadline);
		int err = drover_pool_clockwait(work_->pool, &work_->task,
						CLOCK_MONOTONIC, &ts, nullptr);

		if (err != ETIMEDOUT && err != ECANCELED)
			detail::check(err, "wait_until");
		return err != ETIMEDOUT;
	}
	// May be called only once: the future is not valid afterwards.
	Result get()
	{
		detail::check(work_->wait(), "get");
		auto work = std::move(work_);
		return work->call.get_future().get();
	}

private:
	friend class pool;

	std::unique_ptr<detail::work<Result>, detail::finish> work_;
};

// The destructor of a pool runs all tasks to their end. All futures of a pool's
// tasks have to be destroyed before the pool.
class pool
{
public:
	explicit pool(unsigned int workers = 0)
	{
		drover_poolattr_t attr = {};

		attr.workers = workers;
		detail::check(drover_pool_create(&pool_, &attr), "pool");
	}
	explicit pool(const drover_poolattr_t &attr)
	{
		detail::check(drover_pool_create(&pool_, &attr), "pool");
	}
	~pool()
	{
		drover_pool_shutdown(pool_, DROVER_POOL_DRAIN);
		drover_pool_free(pool_);
	}
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	template <class Function> auto submit(Function &&function)
	{
		using result = std::invoke_result_t<std::decay_t<Function> &>;
		future<result> to;

		to.work_.reset(new detail::work<result>(
			pool_, std::forward<Function>(function)));
		detail::check(drover_pool_submit(pool_, &to.work_->task),
			      "submit");
		return to;
	}

	// Calls function(begin, end) for parts of at most @grain indices. After
	// an exception no more parts begin; when the running parts have ended,
	// the exception is thrown again.
	template <class Function>
	void loop(std::size_t begin, std::size_t end, std::size_t grain,
		  Function &&function)
	{
		using parts = detail::parts<std::remove_reference_t<Function>>;
		parts all{ function, {}, {} };
		int err = drover_pool_for(pool_, begin, end, grain, parts::run,
					  &all);

		if (all.error)
			std::rethrow_exception(all.error);
		detail::check(err, "loop");
	}

	void wait_all()
	{
		detail::check(drover_pool_wait_all(pool_), "wait_all");
	}
	drover_pool_t *native_handle() { return pool_; }

private:
	drover_pool_t *pool_ = nullptr;
};

} // namespace drover

#endif // DROVER_POOL_HPP
