// How a store answers. Changes are asynchronous: the call returns at once and `Done` is called
// exactly once, on a thread of the store, after the change is durable (or refused). It must return
// quickly and may not wait for another change of the same store. Every change has a blocking twin
// of the same name without `Done`, for threads that may wait.
#pragma once

#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"

namespace mercer::server {

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// The StatusOr<T> of a change whose last parameter is a Done<T>.
template <typename First, typename... Others>
struct AnswerOfChange : AnswerOfChange<Others...> {};
template <typename T>
struct AnswerOfChange<Done<T>> {
  using Type = absl::StatusOr<T>;
};
template <typename... Parameters>
using AnswerOf = typename AnswerOfChange<Parameters...>::Type;

// Calls (store->*change)(arguments..., done) and waits until `done` was called. Never call this from inside a Done of
// the same store.
template <typename Store, typename... Parameters, typename... Arguments>
auto WaitFor(Store* store, void (Store::*change)(Parameters...), Arguments&&... arguments) {
  std::optional<AnswerOf<Parameters...>> answer;
  absl::Notification ready;
  (store->*change)(std::forward<Arguments>(arguments)..., [&](AnswerOf<Parameters...> given) {
    answer.emplace(std::move(given));
    ready.Notify();
  });
  ready.WaitForNotification();
  return *std::move(answer);
}

}  // namespace mercer::server
