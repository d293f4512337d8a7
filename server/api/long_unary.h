// Unary calls that may run for long. They end soon after their client has gone, its token is admitted no
// longer, or a drain has begun.
#pragma once

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include <grpcpp/support/server_callback.h>

#include "core/base/cancellation.h"
#include "core/base/errors.h"
#include "server/api/rpc.h"

namespace mercer::server {

// Deletes itself.
class LongUnary final : public grpc::ServerUnaryReactor {
 public:
  LongUnary(const RpcEnvironment& environment, CallRecord call)
      : call_(std::move(call)),
        tracked_(*environment.calls, {[this] { cancellation_.Cancel(); }, nullptr}) {}

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { delete this; }
  const CancellationToken& cancellation() const { return cancellation_; }
  CallRecord& call() { return call_; }

 private:
  const CancellationToken cancellation_;
  CallRecord
      call_;  // here and not with the work, which may outlive gRPC's context: it watches that
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
  auto* reactor = new LongUnary(environment, *std::move(call));
  executor.Post(
      [&environment, reactor, context, request, response, handler = std::move(handler)]() mutable {
        const auto work = [&](const Request& message) -> absl::StatusOr<Response> {
          const CancellationToken& cancellation = reactor->cancellation();
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
          MERCER_RETURN_IF_ERROR(reactor->call().CheckCaller());
          return WithReason(answer.status(), "CALL_CANCELLED");
        };
        reactor->Finish(AnswerUnary(reactor->call(), *context, *request, response, work));
      });
  return reactor;
}

}  // namespace mercer::server
