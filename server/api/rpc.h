// What every RPC goes through: draining, deadline, unknown fields, size of the answer, log,
// metrics, status mapping.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "core/base/run_safely.h"
#include "core/base/status_macros.h"
#include "server/api/call_tracker.h"
#include "server/api/ticker.h"
#include "server/jobs/executor.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// Told of every finished call, by any thread; must be quick.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // `method`: "TrainingService/Train".
  virtual void OnCall(const char* method, absl::StatusCode code, absl::Duration duration) = 0;
};

// Shared by all services; outlives them.
struct RpcEnvironment {
  Executor* io = nullptr;           // for what waits for SQL and files
  Executor* compute = nullptr;      // for the parsing of uploads
  Executor* submission = nullptr;   // for Train, which may read a whole data set
  Executor* predictions = nullptr;  // for predictions that are much work
  Ticker* ticker = nullptr;
  int64_t max_message_bytes = 0;
  std::shared_ptr<spdlog::logger> log;  // may be null
  CallObserver* observer = nullptr;     // may be null
  std::unique_ptr<CallTracker> calls = std::make_unique<CallTracker>();
};

grpc::Status ToGrpcStatus(const absl::Status& status);

// kUnavailable with reason DRAINING.
absl::Status DrainingError();

// One call, from its start to its status.
class CallRecord {
 public:
  CallRecord(const RpcEnvironment& environment, const char* method);

  // Errors: kCancelled (the client has gone or its deadline has passed), kInvalidArgument (unknown
  // fields).
  absl::Status Check(const grpc::CallbackServerContext& context,
                     const google::protobuf::Message& request) const;
  // Errors: kResourceExhausted with reason RESPONSE_TOO_LARGE.
  absl::Status CheckSize(const google::protobuf::Message& response) const;
  // Writes the log line and the metrics. Call once.
  grpc::Status End(const absl::Status& status) const;
  const char* method() const { return method_; }

 private:
  const RpcEnvironment* environment_;
  const char* method_;
  absl::Time start_;
};

// The body of a unary call, from the checks to the status. Whatever `handler` throws becomes a
// status.
template <typename Request, typename Response, typename Handler>
grpc::Status AnswerUnary(const CallRecord& call, const grpc::CallbackServerContext& context,
                         const Request& request, Response* response, const Handler& handler) {
  return call.End(RunSafely(call.method(), [&]() -> absl::Status {
    MERCER_RETURN_IF_ERROR(call.Check(context, request));
    absl::StatusOr<Response> answer = handler(request);
    MERCER_RETURN_IF_ERROR(answer.status());
    MERCER_RETURN_IF_ERROR(call.CheckSize(*answer));
    *response = *std::move(answer);
    return absl::OkStatus();
  }));
}

// A unary call that runs until its answer has been sent. Deletes itself.
class TrackedUnary : public grpc::ServerUnaryReactor {
 public:
  explicit TrackedUnary(const RpcEnvironment& environment) : tracked_(*environment.calls) {}
  void OnDone() override { delete this; }

 private:
  TrackedCall tracked_;
};

// Runs `handler`, an absl::StatusOr<Response>(const Request&), on `executor`.
template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* RunUnary(const RpcEnvironment& environment, Executor* executor,
                                   grpc::CallbackServerContext* context, const char* method,
                                   const Request* request, Response* response, Handler handler) {
  auto* reactor = new TrackedUnary(environment);
  const CallRecord call(environment, method);
  executor->Post([reactor, call, context, request, response, handler = std::move(handler)] {
    reactor->Finish(AnswerUnary(call, *context, *request, response, handler));
  });
  return reactor;
}

// For RPCs that this server does not have yet.
absl::Status NotImplemented(const char* method);

}  // namespace mercer::server
