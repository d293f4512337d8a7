#include "server/api/error_details.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "google/rpc/error_details.pb.h"

namespace mercer::server {
namespace {

constexpr int kRetrySeconds = 2;

std::string Find(const ErrorMetadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) {
      return value;
    }
  }
  return "";
}

void AddErrorInfo(const absl::Status& status, const ErrorMetadata& metadata,
                  google::rpc::Status& result) {
  google::rpc::ErrorInfo info;
  const std::string reason = GetReason(status);
  info.set_reason(reason.empty() ? absl::StatusCodeToString(status.code()) : reason);
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) {
    (*info.mutable_metadata())[key] = value;
  }
  result.add_details()->PackFrom(info);
}

void AddBadRequest(const std::vector<FieldViolation>& violations, google::rpc::Status& result) {
  google::rpc::BadRequest bad_request;
  for (const FieldViolation& violation : violations) {
    auto& field = *bad_request.add_field_violations();
    field.set_field(violation.field);
    field.set_description(violation.description);
  }
  result.add_details()->PackFrom(bad_request);
}

void AddResourceInfo(const ErrorMetadata& metadata, const std::string& message,
                     google::rpc::Status& result) {
  google::rpc::ResourceInfo resource;
  resource.set_resource_type(Find(metadata, "resource_type"));
  resource.set_resource_name(Find(metadata, "resource_name"));
  resource.set_description(message);
  result.add_details()->PackFrom(resource);
}

void AddPreconditionFailure(const absl::Status& status, const ErrorMetadata& metadata,
                            google::rpc::Status& result) {
  google::rpc::PreconditionFailure failure;
  auto& violation = *failure.add_violations();
  violation.set_type(GetReason(status));
  violation.set_subject(Find(metadata, "resource_name"));
  violation.set_description(std::string(status.message()));
  result.add_details()->PackFrom(failure);
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status result;
  result.set_code(static_cast<int>(status.code()));
  if (status.ok()) {
    return result;
  }
  const bool is_bug =
      status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
  const std::string message =
      is_bug ? "an internal error; the server's log says more" : std::string(status.message());
  result.set_message(message);
  const ErrorMetadata metadata = is_bug ? ErrorMetadata() : GetErrorMetadata(status);
  AddErrorInfo(status, metadata, result);
  if (const auto violations = GetFieldViolations(status); !violations.empty()) {
    AddBadRequest(violations, result);
  }
  if (!Find(metadata, "resource_name").empty()) {
    AddResourceInfo(metadata, message, result);
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    AddPreconditionFailure(status, metadata, result);
  }
  if (status.code() == absl::StatusCode::kUnavailable) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(kRetrySeconds);
    result.add_details()->PackFrom(retry);
  }
  return result;
}

}  // namespace mercer::server
