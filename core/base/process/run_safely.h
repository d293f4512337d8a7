// The barrier between code that may throw and interfaces that speak absl::Status. The project
// throws nothing, but the standard library and what lies beneath us do, above all when memory runs
// out. An exception that leaves a thread's function, or a callback of a C library, ends the
// process; one piece of work must not end the others.
//
//   absl::StatusOr<Model> model = RunSafely("training", [&] { return Train(data); });
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/memory/memory_reserve.h"

namespace mercer {

// The exception that is being handled, as a status. Call it in a catch clause only. Throws nothing
// itself: when there is no memory for the message either, the status has its code and neither
// message nor reason.
absl::Status StatusOfException(absl::string_view what) noexcept;

// What `run` returns, an absl::Status or an absl::StatusOr<T>; when it throws instead:
// kResourceExhausted with reason OUT_OF_MEMORY for std::bad_alloc, kInternal with the exception's
// message for anything else. `what` names the work in the message: "what: out of memory". Within
// `run` nothing is given from the reserve of memory.
template <class F>
auto RunSafely(absl::string_view what, F&& run) -> std::decay_t<std::invoke_result_t<F>> {
  try {
    const ScopedAllocations scope(Allocations::kMayFail);
    return std::forward<F>(run)();
  } catch (...) {
    return StatusOfException(what);
  }
}

// The same for work that hands on what others wait for and must not break off: it is given memory
// from the reserve (memory_reserve.h).
template <class F>
absl::Status RunNeeded(absl::string_view what, F&& run) {
  return RunSafely(what, [&] {
    const ScopedAllocations scope(Allocations::kNeeded);
    std::forward<F>(run)();
    return absl::OkStatus();
  });
}

}  // namespace mercer
