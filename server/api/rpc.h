// What every RPC goes through: draining, deadline, unknown fields, size of the answer, log,
// metrics, status mapping.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

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
  Executor* io = nullptr;
  Executor* compute = nullptr;
  Ticker* ticker = nullptr;
  int64_t max_message_bytes = 0;
  std::shared_ptr<spdlog::logger> log;  // may be null
  CallObserver* observer = nullptr;     // may be null
  std::atomic<bool> draining{false};
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

 private:
  const RpcEnvironment* environment_;
  const char* method_;
  absl::Time start_;
};

// The body of a unary call, from the checks to the status.
template <typename Request, typename Response, typename Handler>
grpc::Status AnswerUnary(const CallRecord& call, const grpc::CallbackServerContext& context,
                         const Request& request, Response* response, const Handler& handler) {
  absl::Status status = call.Check(context, request);
  if (status.ok()) {
    absl::StatusOr<Response> answer = handler(request);
    status = answer.ok() ? call.CheckSize(*answer) : answer.status();
    if (status.ok()) {
      *response = *std::move(answer);
    }
  }
  return call.End(status);
}

// Runs `handler`, an absl::StatusOr<Response>(const Request&), on `executor`.
template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* RunUnary(const RpcEnvironment& environment, Executor* executor,
                                   grpc::CallbackServerContext* context, const char* method,
                                   const Request* request, Response* response, Handler handler) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const CallRecord call(environment, method);
  executor->Post([reactor, call, context, request, response, handler = std::move(handler)] {
    reactor->Finish(AnswerUnary(call, *context, *request, response, handler));
  });
  return reactor;
}

// For RPCs that this server does not have yet.
absl::Status NotImplemented(const char* method);

}  // namespace mercer::server
