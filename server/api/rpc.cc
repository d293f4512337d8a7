#include "server/api/rpc.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <spdlog/spdlog.h>

#include "core/base/errors.h"
#include "server/api/answer_size.h"
#include "server/api/error_details.h"
#include "server/api/unknown_fields.h"

namespace mercer::server {
namespace {

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

absl::Status NotImplemented(const char* method) {
  return WithReason(
      absl::UnimplementedError(absl::StrCat(method, " is not available on this server")),
      "NOT_IMPLEMENTED", {{"method", method}});
}

CallRecord::CallRecord(const RpcEnvironment& environment, const char* method)
    : environment_(&environment), method_(method), start_(absl::Now()) {}

absl::Status CallRecord::Check(const grpc::CallbackServerContext& context,
                               const google::protobuf::Message& request) const {
  if (context.IsCancelled()) {
    return WithReason(absl::CancelledError("the client has gone or its deadline has passed"),
                      "CALL_CANCELLED");
  }
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  return violations.ToStatus();
}

absl::Status CallRecord::CheckSize(const google::protobuf::Message& response) const {
  return CheckMessageSize(response, environment_->max_message_bytes);
}

grpc::Status CallRecord::End(const absl::Status& status) const {
  const absl::Duration duration = absl::Now() - start_;
  if (environment_->observer != nullptr) {
    environment_->observer->OnCall(method_, status.code(), duration);
  }
  const spdlog::level::level_enum level = LevelOf(status.code());
  if (environment_->log != nullptr && environment_->log->should_log(level)) {
    // Messages of bad input may quote a user's rows; the reason does not.
    const bool is_ours = level == spdlog::level::err;
    environment_->log->log(
        level, "call method={} code={} reason={} milliseconds={:.3f}{}", method_,
        absl::StatusCodeToString(status.code()), GetReason(status),
        absl::ToDoubleMilliseconds(duration),
        is_ours ? absl::StrCat(" message=\"", std::string(status.message()), "\"") : "");
  }
  return ToGrpcStatus(status);
}

}  // namespace mercer::server
