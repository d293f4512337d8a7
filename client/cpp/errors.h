// What a server says about an error: out of the call's status, for programs and for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <grpcpp/support/status.h>

#include "core/base/status/errors.h"
#include "google/rpc/status.pb.h"

namespace mercer::client {

// The same code and message; the server's details travel in a payload. UNAVAILABLE and
// DEADLINE_EXCEEDED that come without details are the transport's.
absl::Status ToAbslStatus(const grpc::Status& status);

// The status of a call that nobody cancels here: CANCELLED comes from a server that ends and does not wait for it any
// longer, or has not even looked at it. That is UNAVAILABLE then.
absl::Status StatusOfCall(const grpc::Status& status);

// An error that arrived inside a message: the error of a job.
absl::Status ToAbslStatus(const google::rpc::Status& status);

// The server's error with its details; code and message alone when it gave none.
google::rpc::Status ToRpcStatus(const absl::Status& status);

struct ErrorReport {
  std::string reason;  // "BAD_CELL"; empty when the server named none
  std::map<std::string, std::string> metadata;
  std::vector<FieldViolation> fields;  // wrong ones of the request
  int64_t more_fields = 0;  // as wrong, but left out by the server, which cuts long lists
  std::string resource;     // the name that the error is about, "jobs/x"
  std::optional<absl::Duration> retry_delay;
};

ErrorReport ReadErrorReport(const absl::Status& status);

// The error of a batch of rows as an error of the whole: what the error says of row r is said of row r + `offset`.
absl::Status ShiftErrorRow(const absl::Status& status, int64_t offset);

// A client's own words for the fields of requests.
struct FieldWords {
  // A field path in an error, "stopping.relative_gap".
  std::string (*name)(const std::string& path);
  // What to do where that field would have helped; empty: nothing is known.
  std::string (*remedy)(const std::string& path);
};

// Several lines without indentation of the first: what is wrong, then the wrong fields (the first
// 20) with what is allowed, then the named values that the message does not contain. Ends without a line end.
// Fields are called by their paths, or by `words`.
std::string FormatError(const absl::Status& status, const FieldWords* words = nullptr);

}  // namespace mercer::client
