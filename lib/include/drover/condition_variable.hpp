// SPDX-License-Identifier: MIT
//
// This header declares, in the namespace drover::standard, class names of the
// C++ headers <mutex> and <condition_variable>. The mutexes and condition
// variables are Drover's; the locks are those of the C++ library. The header is
// for programs that do not write std:: before these names. Such a program says
// `using namespace std;`, or names the namespace of these classes in one place.
// There it names drover::standard instead:
//
//	#include <drover/condition_variable.hpp>
//	using namespace drover::standard;
//
//	mutex m;
//	condition_variable filled;
//	unique_lock lock(m);
//	filled.wait(lock, [] { return !items.empty(); });
//
// The members are those of the standard's classes. A predicate may run in the
// thread that notifies; <drover/drover.hpp> says what a predicate must not do.
#ifndef DROVER_CONDITION_VARIABLE_HPP
#define DROVER_CONDITION_VARIABLE_HPP

#include <drover/drover.hpp>

namespace drover::standard
{

using drover::condition_variable;
using drover::condition_variable_any;
using drover::mutex;
using timed_mutex = drover::mutex;

using std::adopt_lock;
using std::cv_status;
using std::defer_lock;
using std::lock_guard;
using std::scoped_lock;
using std::try_to_lock;
using std::unique_lock;

} // namespace drover::standard

#endif // DROVER_CONDITION_VARIABLE_HPP
