// Unary calls that may run for long. They end soon after their client has gone, its token is admitted no
// longer, or a drain has begun.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include <grpcpp/support/server_callback.h>

#include "core/base/cancellation.h"
#include "core/base/errors.h"
#include "server/api/rpc.h"

namespace mercer::server {

// Answered once: by its work, or, while that waits for a thread, by what ends the call. Deletes itself.
class LongUnary final : public grpc::ServerUnaryReactor {
 public:
  using Answer = std::function<grpc::Status(LongUnary&)>;

  LongUnary(const RpcEnvironment& environment, CallRecord call, Answer answer)
      : call_(std::move(call)),
        answer_(std::move(answer)),
        tracked_(*environment.calls, {[this] { End(); }, nullptr}) {}

  void OnCancel() override { End(); }
  void OnDone() override { delete this; }
  const CancellationToken& cancellation() const { return cancellation_; }
  CallRecord& call() { return call_; }

  // To be posted: answers, unless the call has ended meanwhile. May outlive it.
  std::function<void()> Work() {
    return [this, taken = taken_] {
      if (!taken->exchange(true)) {
        Finish(answer_(*this));
      }
    };
  }

 private:
  void End() {
    cancellation_.Cancel();
    Work()();  // ends at once now
  }

  const CancellationToken cancellation_;
  const std::shared_ptr<std::atomic<bool>> taken_ = std::make_shared<std::atomic<bool>>(false);
  CallRecord
      call_;  // here and not with the work, which may outlive gRPC's context: it watches that
  const Answer answer_;
  TrackedCall tracked_;
};

// Runs `handler`, an absl::StatusOr<Response>(const Request&, const CancellationToken&), on `executor`; a
// call that the door refuses never gets there.
template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* RunLongUnary(const RpcEnvironment& environment, Executor& executor,
                                       grpc::CallbackServerContext* context, const char* method,
                                       const Request* request, Response* response,
                                       Handler handler) {
  grpc::Status refusal;
  std::optional<CallRecord> call = CallRecord::Admit(environment, *context, method, &refusal);
  if (!call.has_value()) {
    return FailUnary(environment, refusal);
  }
  call->WatchCaller();
  auto answer_call = [&environment, context, request, response, handler](LongUnary& reactor) {
    const auto work = [&](const Request& message) -> absl::StatusOr<Response> {
      const CancellationToken& cancellation = reactor.cancellation();
      absl::StatusOr<Response> answer = absl::CancelledError("ended before the work began");
      if (!cancellation.cancelled()) {
        answer = handler(message, cancellation);
      }
      if (!absl::IsCancelled(answer.status())) {
        return answer;
      }
      if (environment.calls->draining()) {
        return DrainingError();
      }
      MERCER_RETURN_IF_ERROR(reactor.call().CheckCaller());
      return WithReason(answer.status(), "CALL_CANCELLED");
    };
    return AnswerUnary(reactor.call(), *context, *request, response, work);
  };
  auto* reactor = new LongUnary(environment, *std::move(call), std::move(answer_call));
  executor.Post(reactor->Work());
  return reactor;
}

}  // namespace mercer::server
