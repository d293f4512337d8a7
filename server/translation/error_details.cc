#include "server/translation/error_details.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "google/rpc/error_details.pb.h"

namespace mercer::server {
namespace {

constexpr int kRetrySeconds = 2;
constexpr int kQuotaRetrySeconds = 30;  // jobs take a while
constexpr int kDiskRetrySeconds = 60;   // somebody must make room first
// Of ErrorInfo, so that there is always room for the rest.
constexpr size_t kMaxInfoBytes = 1200;
// For the last violation, which counts the others, and for the framing of the whole.
constexpr size_t kReservedBytes = 64;

// When the same call may succeed; 0: it will not by itself.
int RetrySeconds(const absl::Status& status) {
  const std::string reason = GetReason(status);
  if (reason == "QUOTA_EXCEEDED") {
    return kQuotaRetrySeconds;
  }
  if (reason == "DISK_NEARLY_FULL") {
    return kDiskRetrySeconds;
  }
  const bool passes = status.code() == absl::StatusCode::kUnavailable ||
                      reason == "TOO_MANY_CALLS" || reason == "REQUESTS_FILL_MEMORY";
  return passes ? kRetrySeconds : 0;
}

std::string ShortText(std::string_view text) { return Shorten(text, kMaxErrorDescriptionBytes); }

void AddErrorInfo(const absl::Status& status, const ErrorMetadata& metadata,
                  google::rpc::Status& result) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  google::rpc::ErrorInfo info;
  info.set_reason(ReasonOf(status));
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) {
    if (info.ByteSizeLong() + 2 * kMaxErrorDescriptionBytes > kMaxInfoBytes) {
      break;
    }
    (*info.mutable_metadata())[ShortText(key)] = ShortText(value);
  }
  result.add_details()->PackFrom(info);
}

// As many as fit beside what `result` holds already.
void AddBadRequest(const std::vector<FieldViolation>& violations, google::rpc::Status& result) {
  google::rpc::BadRequest bad_request;
  const size_t room = kMaxErrorBytes - result.ByteSizeLong() - kReservedBytes -
                      bad_request.GetTypeName().size() - 32;  // the framing of an Any
  // A lone one has room to say what helps, which stands at its end.
  const size_t most =
      violations.size() == 1 ? kMaxErrorDescriptionBytesAlone : kMaxErrorDescriptionBytes;
  size_t count = 0;
  for (const FieldViolation& violation : violations) {
    google::rpc::BadRequest::FieldViolation field;
    field.set_field(ShortText(violation.field));
    field.set_description(Shorten(violation.description, most));
    if (bad_request.ByteSizeLong() + field.ByteSizeLong() + kReservedBytes > room) {
      break;
    }
    *bad_request.add_field_violations() = std::move(field);
    ++count;
  }
  if (count < violations.size()) {
    bad_request.add_field_violations()->set_description(
        absl::StrCat("and ", violations.size() - count, " more"));
  }
  result.add_details()->PackFrom(bad_request);
}

void AddResourceInfo(const ErrorMetadata& metadata, const std::string& message,
                     google::rpc::Status& result) {
  google::rpc::ResourceInfo resource;
  resource.set_resource_type(ShortText(Find(metadata, "resource_type")));
  resource.set_resource_name(ShortText(Find(metadata, "resource_name")));
  resource.set_owner(ShortText(Find(metadata, "owner")));
  resource.set_description(ShortText(message));
  result.add_details()->PackFrom(resource);
}

void AddPreconditionFailure(const absl::Status& status, const ErrorMetadata& metadata,
                            google::rpc::Status& result) {
  google::rpc::PreconditionFailure failure;
  auto& violation = *failure.add_violations();
  violation.set_type(GetReason(status));
  violation.set_subject(ShortText(Find(metadata, "resource_name")));
  violation.set_description(ShortText(std::string(status.message())));
  result.add_details()->PackFrom(failure);
}

// Bytes of `text` when everything but printable ASCII is written as %XX.
size_t EncodedBytes(std::string_view text) {
  size_t bytes = 0;
  for (const char c : text) {
    bytes += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  }
  return bytes;
}

}  // namespace

std::string Find(const ErrorMetadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) {
      return value;
    }
  }
  return "";
}

std::string ReasonOf(const absl::Status& status) {
  std::string reason = GetReason(status);
  return reason.empty() ? absl::StatusCodeToString(status.code()) : reason;
}

v1::Reason ReasonNumber(std::string_view word) {
  v1::Reason number = v1::REASON_UNSPECIFIED;
  v1::Reason_Parse(absl::StrCat("REASON_", std::string(word)), &number);
  return number;
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status result;
  result.set_code(static_cast<int>(status.code()));
  if (status.ok()) {
    return result;
  }
  const bool is_bug =
      status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
  const std::string message = is_bug
                                  ? "an internal error; the server's log says more"
                                  : Shorten(std::string(status.message()), kMaxErrorMessageBytes);
  result.set_message(message);
  const ErrorMetadata metadata = is_bug ? ErrorMetadata() : GetErrorMetadata(status);
  AddErrorInfo(status, metadata, result);
  if (!Find(metadata, "resource_name").empty()) {
    AddResourceInfo(metadata, message, result);
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    AddPreconditionFailure(status, metadata, result);
  }
  if (const int seconds = RetrySeconds(status); seconds > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(seconds);
    result.add_details()->PackFrom(retry);
  }
  if (const auto violations = GetFieldViolations(status); !violations.empty()) {
    AddBadRequest(violations, result);
  }
  return result;
}

std::string HeaderMessage(std::string_view message) {
  std::string header = Shorten(message, kMaxErrorMessageBytes);
  while (EncodedBytes(header) > kMaxErrorMessageBytes) {
    header = Shorten(message, header.size() * 3 / 4);
  }
  return header;
}

}  // namespace mercer::server
