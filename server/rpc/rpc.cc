#include "server/rpc/rpc.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <spdlog/spdlog.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "server/rpc/call_metadata.h"
#include "server/translation/answer_size.h"
#include "server/translation/error_details.h"
#include "server/translation/unknown_fields.h"

namespace mercer::server {
namespace {

constexpr char kAuthorization[] = "authorization";

spdlog::level::level_enum LevelOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return spdlog::level::debug;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return spdlog::level::err;
    default:
      return spdlog::level::info;
  }
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  const google::rpc::Status details = ToRpcStatus(status);
  return {static_cast<grpc::StatusCode>(details.code()), HeaderMessage(details.message()),
          details.SerializeAsString()};
}

absl::Status DrainingError() {
  return WithReason(absl::UnavailableError("the server is shutting down; try again soon"),
                    "DRAINING");
}

absl::Status CallCancelledError() {
  return WithReason(absl::CancelledError("the client has gone or its deadline has passed"),
                    "CALL_CANCELLED");
}

OwnerCheck CallInfo::CheckOfChange(std::string type, std::string name) const {
  return [seen = owner, check = ChangeCheck(caller, std::move(type), std::move(name))](
             const std::string& of_resource) {
    *seen = of_resource;
    return check(of_resource);
  };
}

// Ends a stream whose caller is admitted no longer. Lives within the record of a reactor, whose end
// removes it.
class CallRecord::CallerWatch {
 public:
  CallerWatch(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
              const MethodRule& rule)
      : ticker_(*environment.ticker), gate_(environment.gate), context_(context), rule_(rule) {
    key_ = ticker_.Add([this] { Look(); });
  }
  ~CallerWatch() { ticker_.Remove(key_); }
  CallerWatch(const CallerWatch&) = delete;
  CallerWatch& operator=(const CallerWatch&) = delete;

 private:
  void Look() {
    const absl::Status status = RunSafely("the look at a stream's caller", [this] {
      return gate_->Admit(MetadataOf(*context_, kAuthorization), rule_.scope, absl::Now()).status();
    });
    const bool before = std::exchange(refused_, !status.ok());
    if (before && refused_) {
      context_->TryCancel();
    }
  }

  Ticker& ticker_;
  const std::shared_ptr<const Gate> gate_;
  grpc::CallbackServerContext* context_;
  const MethodRule& rule_;
  bool refused_ = false;  // at the heartbeat before; of the ticker's thread
  int64_t key_ = 0;
};

CallRecord::CallRecord(const RpcEnvironment& environment, grpc::CallbackServerContext& context,
                       const char* method)
    : environment_(&environment),
      context_(&context),
      method_(method),
      rule_(FindMethodRule(method)),
      start_(absl::Now()) {
  info_.trace_id = TraceIdOf(context);
}

std::optional<CallRecord> CallRecord::Admit(const RpcEnvironment& environment,
                                            grpc::CallbackServerContext& context,
                                            const char* method, grpc::Status* refusal) {
  CallRecord call(environment, context, method);
  const absl::Status status = RunSafely(method, [&] { return call.Enter(); });
  if (!status.ok()) {
    call.Report(status, {}, /*refused=*/true);
    *refusal = ToGrpcStatus(status);
    return std::nullopt;
  }
  return call;
}

absl::Status CallRecord::Enter() {
  if (rule_ == nullptr) {
    return absl::InternalError(absl::StrCat(method_, " is not in the table of scopes"));
  }
  MERCER_ASSIGN_OR_RETURN(info_.caller, AskGate());
  return TakeSlot();
}

absl::Status CallRecord::TakeSlot() {
  const std::string& caller = info_.caller.name;
  const int64_t limit = environment_->max_calls_per_caller;
  slot_ = environment_->call_slots.NewShare(
      absl::StrCat(rule_->ends_work ? "ends work " : "call ", caller));
  if (!slot_.Grow(1, {-1, limit > 0 ? limit : -1}).has_value()) {
    return absl::OkStatus();
  }
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        caller, " has ", limit, " calls at a time, streams included, no more are ",
                        "allowed; try again when one has ended")),
                    "TOO_MANY_CALLS", {{"caller", caller}, {"limit_calls", absl::StrCat(limit)}});
}

absl::StatusOr<Caller> CallRecord::AskGate() const {
  return environment_->gate->Admit(MetadataOf(*context_, kAuthorization), rule_->scope,
                                   absl::Now());
}

void CallRecord::WatchCaller() {
  if (!environment_->gate->open()) {
    watch_ = std::make_shared<CallerWatch>(*environment_, context_, *rule_);
  }
}

absl::Status CallRecord::CheckCaller() const { return AskGate().status(); }

absl::Status CallRecord::Check(const grpc::CallbackServerContext& context,
                               const google::protobuf::Message& request) const {
  if (watch_ != nullptr) {
    MERCER_RETURN_IF_ERROR(CheckCaller());
  }
  if (context.IsCancelled()) {
    return CallCancelledError();
  }
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  return violations.ToStatus();
}

absl::Status CallRecord::CheckSize(const google::protobuf::Message& response) const {
  return CheckMessageSize(response, environment_->max_message_bytes);
}

void CallRecord::Report(const absl::Status& status, const AuditSubject& subject,
                        bool refused) const {
  const absl::Duration duration = absl::Now() - start_;
  if (environment_->observer != nullptr) {
    environment_->observer->OnCall(method_, status.code(), duration);
  }
  spdlog::logger* const log = environment_->log.get();
  if (log == nullptr) {
    return;
  }
  if (refused && !TakesRefusal(status)) {
    return;
  }
  if (refused || rule_->changes) {
    LogAudit(*log,
             {method_, info_.caller.name, PeerOf(*context_, environment_->peer_key), subject,
              refused, info_.trace_id},
             status);
  }
  const spdlog::level::level_enum level = LevelOf(status.code());
  if (!refused && log->should_log(level)) {
    // Messages of bad input may quote a user's rows; the reason does not.
    const bool is_ours = level == spdlog::level::err;
    log->log(level, "call method={} code={} reason={} milliseconds={:.3f}{}{}", method_,
             absl::StatusCodeToString(status.code()), GetReason(status),
             absl::ToDoubleMilliseconds(duration),
             info_.trace_id.empty() ? "" : absl::StrCat(" trace=", info_.trace_id),
             is_ours ? absl::StrCat(" message=\"", std::string(status.message()), "\"") : "");
  }
}

bool CallRecord::TakesRefusal(const absl::Status& status) const {
  return environment_->refusals == nullptr ||
         environment_->refusals->Admit(absl::IsUnauthenticated(status) ? RefusalLog::kStranger
                                                                       : RefusalLog::kKnownCaller);
}

grpc::Status CallRecord::End(const absl::Status& status, const AuditSubject& subject) {
  const ScopedAllocations scope(Allocations::kNeeded);
  Report(status, subject, /*refused=*/false);
  slot_.Release();  // before the client hears of the end and calls again
  return ToGrpcStatus(status);
}

}  // namespace mercer::server
