// Unary calls that may run for long. They end soon after their client has gone, its token is admitted no
// longer, or a drain has begun.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "core/base/status/errors.h"
#include "server/api/request_call.h"
#include "server/api/rpc.h"

namespace mercer::server {

// Answered once: by its work, or, while that waits for a thread, by what ends the call. Deletes itself.
template <typename Request, typename Handler>
class CancellableUnary final : public RequestCall {
 public:
  // `handler`, an absl::StatusOr<Response>(const Request&, const CancellationToken&), runs on `executor`; both outlive it.
  CancellableUnary(const RpcEnvironment& environment, CallRecord call,
                   grpc::CallbackServerContext* context, Executor& executor, const Handler& handler)
      : RequestCall(environment, std::move(call), context, request_),
        executor_(executor),
        handler_(handler) {}

  void OnCancel() override { EndSoon(); }

 private:
  using Response = typename std::invoke_result_t<const Handler&, const Request&,
                                                 const CancellationToken&>::value_type;

  void Begin() override {
    // May run when the call has gone. What it throws ends the call, as nobody else can have ended it before has_begun_.
    executor_.Post([this, taken = taken_] {
      if (!taken->exchange(true)) {
        Work();
      }
    });
    has_begun_ = true;
    if (cancellation_.cancelled()) {
      EndSoon();
    }
  }

  void EndForDrain() override { EndSoon(); }

  void EndSoon() {
    cancellation_.Cancel();
    if (has_begun_ && !taken_->exchange(true)) {
      Work();  // ends at once now
    }
  }

  void Work() {
    const auto work = [this](const Request& request) { return Answer(request); };
    FinishWith(*this, response_, AnswerUnary(call_, *context_, request_, &response_, work), bytes_);
  }

  absl::StatusOr<Response> Answer(const Request& request) {
    absl::StatusOr<Response> answer = absl::CancelledError("ended before the work began");
    if (!cancellation_.cancelled()) {
      answer = handler_(request, cancellation_);
    }
    if (!absl::IsCancelled(answer.status())) {
      return answer;
    }
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    MERCER_RETURN_IF_ERROR(call_.CheckCaller());
    return WithReason(answer.status(), "CALL_CANCELLED");
  }

  Executor& executor_;
  const Handler& handler_;
  const CancellationToken cancellation_;
  const std::shared_ptr<std::atomic<bool>> taken_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> has_begun_{false};
  Request request_;
  Response response_;
};

}  // namespace mercer::server
