// How a store answers. Changes are asynchronous: the call returns at once and `Done` is called
// exactly once, on a thread of the store, after the change is durable (or refused). It must return
// quickly and may not wait for another change of the same store. Every change has a blocking twin
// of the same name without `Done`, for threads that may wait.
#pragma once

#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"

namespace mercer::server {

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// Calls `start` with a Done and waits until it was called. Never call this from inside a Done of
// the same store.
template <typename T>
absl::StatusOr<T> WaitFor(absl::FunctionRef<void(Done<T>)> start) {
  std::optional<absl::StatusOr<T>> result;
  absl::Notification ready;
  start([&](absl::StatusOr<T> answer) {
    result.emplace(std::move(answer));
    ready.Notify();
  });
  ready.WaitForNotification();
  return *std::move(result);
}

}  // namespace mercer::server
