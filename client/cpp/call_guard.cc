#include "client/cpp/call_guard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mercer::client {
namespace {

constexpr absl::Duration kLongest = absl::Hours(24 * 365);  // what clocks can add

}  // namespace

CallGuard::CallGuard(grpc::ClientContext& context, absl::Duration patience, std::stop_token stop)
    : context_(context),
      patience_(ToClock(patience)),
      step_patience_(patience_),
      stop_(stop),
      on_stop_(std::move(stop), [this] { context_.TryCancel(); }),
      watcher_([this](const std::stop_token& ended) { Watch(ended); }) {}

CallGuard::Clock::duration CallGuard::ToClock(absl::Duration duration) {
  return absl::ToChronoNanoseconds(std::min(duration, kLongest));
}

CallGuard::~CallGuard() {
  watcher_.request_stop();
  watcher_.join();
}

void CallGuard::SetDeadline(std::optional<Clock::time_point> deadline) {
  const std::lock_guard lock(mutex_);
  deadline_ = deadline;
  changed_.notify_all();
}

void CallGuard::Watch(const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  while (!ended.stop_requested() && !expired_) {
    const std::optional<Clock::time_point> deadline = deadline_;
    const auto is_other = [&] { return deadline_ != deadline; };
    if (!deadline.has_value()) {
      changed_.wait(lock, ended, is_other);
    } else if (!changed_.wait_until(lock, ended, *deadline, is_other) && !ended.stop_requested()) {
      expired_ = true;
      context_.TryCancel();
    }
  }
}

bool CallGuard::expired() const {
  const std::lock_guard lock(mutex_);
  return expired_;
}

absl::Status CallGuard::Explain(const absl::Status& status) const {
  if (status.ok()) {
    return status;
  }
  if (stop_.stop_requested()) {
    return absl::CancelledError("interrupted");
  }
  if (expired()) {
    const absl::Duration patience = absl::FromChrono(step_patience_);
    return absl::DeadlineExceededError(
        absl::StrCat("the server has not answered within ", absl::FormatDuration(patience)));
  }
  return status;
}

}  // namespace mercer::client
