// Unary calls that may run for long. They end soon after their client has gone, its token is admitted no longer, or a drain waits for
// them no longer.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "core/base/status/errors.h"
#include "server/rpc/request_call.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// Calls a handler of LongUnary, which may take what is known of the call, too.
template <typename Request, typename Handler>
auto HandleLong(const CallRecord& call, const Request& request,
                const CancellationToken& cancellation, const Handler& handler) {
  if constexpr (std::is_invocable_v<const Handler&, const Request&, const CallInfo&,
                                    const CancellationToken&>) {
    return handler(request, call.info(), cancellation);
  } else {
    return handler(request, cancellation);
  }
}

// Answered once: by its work, or, while that waits for a thread, by what ends the call. Deletes itself.
template <typename Request, typename Handler>
class CancellableUnary final : public RequestCall {
 public:
  // `handler` (see RpcService::LongUnary) runs on `executor`; both outlive it.
  CancellableUnary(const RpcEnvironment& environment, CallRecord call,
                   grpc::CallbackServerContext* context, Executor& executor, const Handler& handler)
      : RequestCall(environment, std::move(call), context, request_),
        executor_(executor),
        handler_(handler) {}

  void OnCancel() override { EndSoon(); }

 private:
  using Response = typename decltype(HandleLong(
      std::declval<const CallRecord&>(), std::declval<const Request&>(),
      std::declval<const CancellationToken&>(), std::declval<const Handler&>()))::value_type;

  // Asked by those that may come when the call has gone.
  struct Turn {
    std::atomic<bool> is_posted{false};  // from then on, whoever takes the work ends the call
    std::atomic<bool> is_taken{false};
    std::atomic<bool> shall_end{false};  // without waiting for a thread
  };

  // What Post throws ends the call, as nobody else can have ended it by then.
  void Begin() override {
    const std::shared_ptr<Turn> turn = turn_;  // the call may have gone before Post returns
    executor_.Post([this, turn] {
      if (!turn->is_taken.exchange(true)) {
        Work();
      }
    });
    turn->is_posted = true;
    if (turn->shall_end && !turn->is_taken.exchange(true)) {
      Work();  // ends at once now
    }
  }

  void CancelForDrain() override { EndSoon(); }

  void EndSoon() {
    cancellation_.Cancel();
    turn_->shall_end = true;
    if (turn_->is_posted && !turn_->is_taken.exchange(true)) {
      Work();
    }
  }

  void Work() {
    const auto work = [this](const Request& request) { return Answer(request); };
    FinishWith(*this, response_, AnswerUnary(call_, *context_, request_, &response_, work), bytes_);
  }

  absl::StatusOr<Response> Answer(const Request& request) {
    absl::StatusOr<Response> answer = absl::CancelledError("ended before the work began");
    if (!cancellation_.cancelled()) {
      answer = HandleLong(call_, request, cancellation_, handler_);
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
  const std::shared_ptr<Turn> turn_ = std::make_shared<Turn>();
  Request request_;
  Response response_;
};

}  // namespace mercer::server
