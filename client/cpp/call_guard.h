// Ends calls that take too long or are no longer wanted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <grpcpp/client_context.h>

namespace mercer::client {

// Watches over one call without a deadline: cancels it when a single step takes longer than
// `patience`, or when `stop` is requested. A server that accepts calls and never answers would
// block the caller for ever otherwise. The context must outlive the guard.
class CallGuard {
 public:
  CallGuard(grpc::ClientContext& context, absl::Duration patience, std::stop_token stop = {});
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

  // Runs one blocking step of the call and returns its result. Between steps the caller may take any time. A step that is
  // known to be long is given `more` time than the others.
  template <typename Step>
  auto Run(Step step, absl::Duration more = absl::ZeroDuration()) {
    step_patience_ = patience_ + ToClock(more);
    SetDeadline(Clock::now() + step_patience_);
    auto result = step();
    SetDeadline(std::nullopt);
    return result;
  }

  // The status of the ended call; kDeadlineExceeded or kCancelled when this guard ended it.
  absl::Status Explain(const absl::Status& status) const;
  bool expired() const;

 private:
  using Clock = std::chrono::steady_clock;

  // At most what clocks can add.
  static Clock::duration ToClock(absl::Duration duration);
  void SetDeadline(std::optional<Clock::time_point> deadline);
  void Watch(const std::stop_token& ended);

  grpc::ClientContext& context_;
  const Clock::duration patience_;
  Clock::duration step_patience_;  // with the last step
  const std::stop_token stop_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Clock::time_point> deadline_;
  bool expired_ = false;
  std::stop_callback<std::function<void()>> on_stop_;
  std::jthread watcher_;
};

}  // namespace mercer::client
