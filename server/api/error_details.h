// A status of the core or the stores as google.rpc.Status with details. docs/errors.md lists the
// reasons.
#pragma once

#include "absl/status/status.h"

#include "google/rpc/status.pb.h"

namespace mercer::server {

inline constexpr char kErrorDomain[] = "mercer";

// ErrorInfo always (reason UNSPECIFIED becomes the name of the code), BadRequest for field
// violations, ResourceInfo when the metadata name a resource, PreconditionFailure for
// kFailedPrecondition, RetryInfo for kUnavailable. The messages of kInternal and kUnknown are
// replaced: they are for the log.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace mercer::server
