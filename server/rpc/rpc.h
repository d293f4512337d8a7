// What every RPC goes through: the door, draining, deadline, unknown fields, size of the answer, log,
// metrics, status mapping.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>

#include "core/base/process/live_value.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/access/gate.h"
#include "server/access/ownership.h"
#include "server/budget/budget.h"
#include "server/budget/freed_memory.h"
#include "server/jobs/executor.h"
#include "server/rpc/audit.h"
#include "server/rpc/call_tracker.h"
#include "server/rpc/connection_load.h"
#include "server/rpc/method_rules.h"
#include "server/rpc/refusal_log.h"
#include "server/rpc/ticker.h"
#include "server/storage/owner_check.h"

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
  Executor* watching = nullptr;     // for what streams tell their watchers, in the background
  Executor* compute = nullptr;      // for the parsing of uploads
  Executor* intake = nullptr;       // for requests with many fields, in the background
  Executor* submission = nullptr;   // for Train, which may read a whole data set
  Executor* predictions = nullptr;  // for predictions that are much work
  Ticker* ticker = nullptr;
  int64_t max_message_bytes = int64_t{64} << 20;
  // What all requests may take in memory while they are answered.
  int64_t request_memory_bytes = int64_t{512} << 20;
  Budget request_memory = {};
  std::shared_ptr<FreedMemory> freed_requests = std::make_shared<FreedMemory>();
  std::shared_ptr<spdlog::logger> log;                                // may be null
  CallObserver* observer = nullptr;                                   // may be null
  std::shared_ptr<const Gate> gate = std::make_shared<const Gate>();  // open to everybody
  std::string peer_key;                                               // of PeerOf
  std::unique_ptr<RefusalLog> refusals;  // may be null: each refusal gets its line
  // At a time, of each of the two kinds: those that end work take no place from others. 0: any number.
  LiveValue<int64_t> max_calls_per_caller = int64_t{0};
  Budget call_slots = {};
  std::unique_ptr<ConnectionLoads> connections = std::make_unique<ConnectionLoads>();
  std::unique_ptr<CallTracker> calls = std::make_unique<CallTracker>();
};

grpc::Status ToGrpcStatus(const absl::Status& status);

// kUnavailable with reason DRAINING.
absl::Status DrainingError();
// kCancelled with reason CALL_CANCELLED.
absl::Status CallCancelledError();

// What a handler may want to know of its call beyond the request.
struct CallInfo {
  // ChangeCheck for the caller; the log names whose the resource was, also when the answer to the call does not.
  OwnerCheck CheckOfChange(std::string type, std::string name) const;

  // The token's holder; kAnyone, who may do everything, when no tokens are asked for.
  Caller caller;
  std::string trace_id;  // of the trace that the client's call belongs to; empty: it names none
  // Whose the resource is that the call changes; written by the last check of the change, before its answer.
  std::shared_ptr<std::string> owner = std::make_shared<std::string>();
};

// One call, from the door to its status. There is none without the caller's having been admitted.
class CallRecord {
 public:
  // Null when the caller may not make the call, or has too many already: `*refusal` is what he is to
  // hear, and log and metrics know of it. Nothing of the request is looked at. `context` outlives the
  // record.
  static std::optional<CallRecord> Admit(const RpcEnvironment& environment,
                                         grpc::CallbackServerContext& context, const char* method,
                                         grpc::Status* refusal);
  CallRecord(CallRecord&&) = default;
  CallRecord& operator=(CallRecord&&) = default;

  // From now on the call is cancelled when its caller is no longer admitted: at the second heartbeat
  // after that, so that streams which ask CheckCaller themselves end with the reason.
  void WatchCaller();
  // Whether a token that has been revoked or has expired since the call began is behind it. Errors:
  // kUnauthenticated, kPermissionDenied.
  absl::Status CheckCaller() const;
  // Errors: those of CheckCaller, for streams; kCancelled (the client has gone or its deadline has
  // passed), kInvalidArgument (unknown fields).
  absl::Status Check(const grpc::CallbackServerContext& context,
                     const google::protobuf::Message& request) const;
  // Errors: kResourceExhausted with reason RESPONSE_TOO_LARGE.
  absl::Status CheckSize(const google::protobuf::Message& response) const;
  // Writes the log lines and the metrics, and lets the caller's next call in. Call once.
  grpc::Status End(const absl::Status& status, const AuditSubject& subject = AuditSubject());
  const char* method() const { return method_; }
  absl::Time start() const { return start_; }
  bool changes() const { return rule_->changes; }
  // Of one message of the request.
  int64_t request_bytes() const {
    return rule_->request_bytes > 0 ? rule_->request_bytes : environment_->max_message_bytes;
  }
  const CallInfo& info() const { return info_; }

 private:
  class CallerWatch;

  CallRecord(const RpcEnvironment& environment, grpc::CallbackServerContext& context,
             const char* method);
  absl::Status Enter();
  // Errors: kResourceExhausted with reason TOO_MANY_CALLS.
  absl::Status TakeSlot();
  absl::StatusOr<Caller> AskGate() const;
  // Whether the log takes a line about a refusal of now.
  bool TakesRefusal(const absl::Status& status) const;
  void Report(const absl::Status& status, const AuditSubject& subject, bool refused) const;

  const RpcEnvironment* environment_;
  grpc::CallbackServerContext* context_;
  const char* method_;
  const MethodRule* rule_;
  absl::Time start_;
  CallInfo info_;
  Budget::Share slot_;
  std::shared_ptr<CallerWatch> watch_;  // null: a call that ends by itself soon
};

// Calls `handler` with the request, when it takes that too with the CallInfo, and with the rest.
template <typename Request, typename Handler, typename... Rest>
auto Handle(const CallRecord& call, const Request& request, const Handler& handler,
            const Rest&... rest) {
  if constexpr (std::is_invocable_v<const Handler&, const Request&, const CallInfo&,
                                    const Rest&...>) {
    return handler(request, call.info(), rest...);
  } else {
    return handler(request, rest...);
  }
}

// What it answers.
template <typename Request, typename Handler, typename... Rest>
using Handled = typename decltype(Handle(
    std::declval<const CallRecord&>(), std::declval<const Request&>(),
    std::declval<const Handler&>(), std::declval<const Rest&>()...))::value_type;

// The body of a unary call, from the checks to the status. Whatever `handler` throws becomes a
// status.
template <typename Request, typename Response, typename Handler>
grpc::Status AnswerUnary(CallRecord& call, const grpc::CallbackServerContext& context,
                         const Request& request, Response* response, const Handler& handler) {
  const absl::Status status = RunSafely(call.method(), [&]() -> absl::Status {
    MERCER_RETURN_IF_ERROR(call.Check(context, request));
    absl::StatusOr<Response> answer = Handle(call, request, handler);
    MERCER_RETURN_IF_ERROR(answer.status());
    MERCER_RETURN_IF_ERROR(call.CheckSize(*answer));
    *response = *std::move(answer);
    return absl::OkStatus();
  });
  return call.changes() ? call.End(status, SubjectOf(request, *response, *call.info().owner))
                        : call.End(status);
}

}  // namespace mercer::server
