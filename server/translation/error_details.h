// A status of the core or the stores as google.rpc.Status with details. docs/errors.md lists the
// reasons.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/status/errors.h"
#include "google/rpc/status.pb.h"
#include "mercer/v1/reason.pb.h"

namespace mercer::server {

inline constexpr char kErrorDomain[] = "mercer";

// An error travels in HTTP/2 headers, of which many clients take 8 KiB in all; what is larger
// reaches them as RESOURCE_EXHAUSTED without a word of it.
inline constexpr size_t kMaxErrorMessageBytes = 1024;
inline constexpr size_t kMaxErrorDescriptionBytes = 200;
inline constexpr size_t kMaxErrorDescriptionBytesAlone = 500;  // of the only field that is wrong
inline constexpr size_t kMaxErrorBytes = 4096;  // of the google.rpc.Status as a whole

// Empty: there is no such key.
std::string Find(const ErrorMetadata& metadata, std::string_view key);
// The reason of a status that is not OK, or else the name of its code: what ErrorInfo says.
std::string ReasonOf(const absl::Status& status);
// "BAD_FIELDS" is REASON_BAD_FIELDS; a word that the API does not have is unspecified.
v1::Reason ReasonNumber(std::string_view word);

// ErrorInfo always (reason UNSPECIFIED becomes the name of the code), ResourceInfo when the metadata
// name a resource, PreconditionFailure for kFailedPrecondition, RetryInfo for kUnavailable
// and QUOTA_EXCEEDED, BadRequest for field violations; when they are too many, the last one says how many more. The
// messages of kInternal and kUnknown are replaced: they are for the log.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// `message` for the header grpc-message: at most kMaxErrorMessageBytes in the form in which it
// travels, where everything but printable ASCII takes three bytes.
std::string HeaderMessage(std::string_view message);

}  // namespace mercer::server
