#include "client/cpp/errors.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "google/rpc/error_details.pb.h"

namespace mercer::client {
namespace {

constexpr char kDetailsUrl[] = "type.googleapis.com/google.rpc.Status";
constexpr int64_t kMaxShownFields = 20;  // that people read
constexpr char kRemedy[] = "remedy";     // names a field that would have helped

absl::StatusCode ToCode(int code) {
  const auto result = static_cast<absl::StatusCode>(code);
  return code == 0 || absl::StatusCodeToString(result).empty() ? absl::StatusCode::kUnknown
                                                               : result;
}

// "and 7 more", which ends a list that the server has cut: 7.
std::optional<int64_t> ReadRestCount(const google::rpc::BadRequest::FieldViolation& violation) {
  absl::string_view text = violation.description();
  int64_t count = 0;
  const bool is_count = violation.field().empty() && absl::ConsumePrefix(&text, "and ") &&
                        absl::ConsumeSuffix(&text, " more") && absl::SimpleAtoi(text, &count) &&
                        count > 0;
  return is_count ? std::optional(count) : std::nullopt;
}

void ReadFields(const google::rpc::BadRequest& bad_request, ErrorReport& report) {
  for (const auto& violation : bad_request.field_violations()) {
    if (const std::optional<int64_t> rest = ReadRestCount(violation); rest.has_value()) {
      report.more_fields = *rest;
    } else {
      report.fields.push_back({violation.field(), violation.description()});
    }
  }
}

void ReadDetail(const google::protobuf::Any& detail, ErrorReport& report) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::ResourceInfo resource;
  google::rpc::RetryInfo retry;
  if (detail.UnpackTo(&info)) {
    report.reason = info.reason();
    report.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (detail.UnpackTo(&bad_request)) {
    ReadFields(bad_request, report);
  } else if (detail.UnpackTo(&resource)) {
    report.resource = resource.resource_name();
  } else if (detail.UnpackTo(&retry)) {
    report.retry_delay = absl::Seconds(retry.retry_delay().seconds()) +
                         absl::Nanoseconds(retry.retry_delay().nanos());
  }
}

// A word for an error whose message is empty.
std::string MessageOf(const absl::Status& status) {
  return status.message().empty() ? absl::StatusCodeToString(status.code())
                                  : std::string(status.message());
}

// Messages about a row begin with it: "row 3, column 'age': not a number".
std::string ShiftMessage(const std::string& message, const std::string& row,
                         const std::string& shifted) {
  const std::string old_start = absl::StrCat("row ", row);
  const bool starts = absl::StartsWith(message, old_start) &&
                      (message.size() == old_start.size() ||
                       !absl::ascii_isdigit(static_cast<unsigned char>(message[old_start.size()])));
  return starts ? absl::StrCat("row ", shifted, message.substr(old_start.size()))
                : absl::StrCat("row ", shifted, ": ", message);
}

void ShiftDetails(const std::string& shifted, google::rpc::Status& status) {
  for (google::protobuf::Any& detail : *status.mutable_details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) {
      (*info.mutable_metadata())["row"] = shifted;
      detail.PackFrom(info);
    }
  }
}

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  absl::Status result(ToCode(static_cast<int>(status.error_code())), status.error_message());
  if (!status.error_details().empty()) {
    result.SetPayload(kDetailsUrl, absl::Cord(status.error_details()));
  }
  return result;
}

absl::Status StatusOfCall(const grpc::Status& status) {
  absl::Status result = ToAbslStatus(status);
  return absl::IsCancelled(result)
             ? absl::UnavailableError("the server has ended before it answered")
             : result;
}

absl::Status ToAbslStatus(const google::rpc::Status& status) {
  if (status.code() == 0) {
    return absl::OkStatus();
  }
  absl::Status result(ToCode(status.code()), status.message());
  result.SetPayload(kDetailsUrl, absl::Cord(status.SerializeAsString()));
  return result;
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status result;
  const auto payload = status.GetPayload(kDetailsUrl);
  if (!payload.has_value() || !result.ParseFromString(std::string(*payload))) {
    result.Clear();
  }
  result.set_code(static_cast<int>(status.code()));
  result.set_message(std::string(status.message()));
  return result;
}

ErrorReport ReadErrorReport(const absl::Status& status) {
  ErrorReport report;
  const google::rpc::Status details = ToRpcStatus(status);
  for (const google::protobuf::Any& detail : details.details()) {
    ReadDetail(detail, report);
  }
  // Errors of our own, as the readers of core/data report them.
  if (report.reason.empty()) {
    report.reason = GetReason(status);
    for (const auto& [name, value] : GetErrorMetadata(status)) {
      report.metadata.emplace(name, value);
    }
    for (FieldViolation& field : GetFieldViolations(status)) {
      report.fields.push_back(std::move(field));
    }
  }
  return report;
}

absl::Status ShiftErrorRow(const absl::Status& status, int64_t offset) {
  const ErrorReport report = ReadErrorReport(status);
  const auto row = report.metadata.find("row");
  int64_t number = 0;
  if (offset == 0 || row == report.metadata.end() || !absl::SimpleAtoi(row->second, &number)) {
    return status;
  }
  const std::string shifted = absl::StrCat(number + offset);
  const std::string message = ShiftMessage(std::string(status.message()), row->second, shifted);
  if (!status.GetPayload(kDetailsUrl).has_value()) {  // an error of our own readers
    ErrorMetadata metadata = GetErrorMetadata(status);
    for (auto& [name, value] : metadata) {
      value = name == "row" ? shifted : value;
    }
    return WithReason(absl::Status(status.code(), message), GetReason(status), metadata);
  }
  google::rpc::Status details = ToRpcStatus(status);
  details.set_message(message);
  ShiftDetails(shifted, details);
  return ToAbslStatus(details);
}

std::string FormatError(const absl::Status& status, const FieldWords* words) {
  const ErrorReport report = ReadErrorReport(status);
  const auto listed = static_cast<int64_t>(report.fields.size());
  const int64_t wrong = listed + report.more_fields;
  const auto line_of = [words](const FieldViolation& field) {
    return absl::StrCat(words == nullptr ? field.field : words->name(field.field), ": ",
                        field.description);
  };
  if (listed == 1 && wrong == 1) {
    return line_of(report.fields[0]);
  }
  std::string text = MessageOf(status);
  if (!report.fields.empty()) {
    text = absl::StrCat(wrong, " fields of the request are wrong:");
    const int64_t shown = std::min(listed, kMaxShownFields);
    for (int64_t i = 0; i < shown; ++i) {
      absl::StrAppend(&text, "\n  ", line_of(report.fields[static_cast<size_t>(i)]));
    }
    if (shown < wrong) {
      absl::StrAppend(&text, "\n  and ", wrong - shown, " more");
    }
  }
  for (const auto& [name, value] : report.metadata) {
    if (name == kRemedy && words != nullptr) {
      const std::string remedy = words->remedy(value);
      absl::StrAppend(&text, remedy.empty() ? "" : "\n  ", remedy);
    } else if (!value.empty() && !absl::StrContains(text, value)) {
      absl::StrAppend(&text, "\n  ", name, ": ", value);
    }
  }
  return text;
}

}  // namespace mercer::client
