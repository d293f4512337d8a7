// The paths of the API, and which RPC each stands for, as the options google.api.http of the protos say.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include <google/protobuf/descriptor.h>

namespace mercer::gateway {

enum class CallKind : uint8_t {
  kUnary,
  kUpload,  // of a client's stream: the body is the file
  kExport,  // of a server's stream of chunks: the answer is the file
  kEvents,  // of another stream of a server: the answer is a stream of events
};

struct Route {
  std::string verb;    // "POST"
  std::string path;    // "/v1/jobs/{job}:cancel"; a variable is a segment, or its part before ':'
  std::string method;  // "TrainingService/CancelJob"
  std::string field;   // of the request, which the path says: "name", "model.name"; empty: none
  std::string value;   // what it says: "jobs/{job}"
  bool has_body = false;  // else the rest of the request is in the query
  // A DELETE of a call that sets something by its other verbs: of the request it takes what says which one, etag and request_id, and
  // nothing of what would be set.
  bool removes = false;
  CallKind kind = CallKind::kUnary;
  const google::protobuf::MethodDescriptor* descriptor = nullptr;  // of the RPC
};

absl::Span<const Route> AllRoutes();

struct RouteMatch {
  const Route* route = nullptr;
  std::string value;  // of Route::field
};

// `path`: of a request, still with its %XX. Errors: kNotFound with reason NO_SUCH_PATH, kUnimplemented with
// reason METHOD_NOT_ALLOWED and in its metadata `allow`: "GET, POST".
absl::StatusOr<RouteMatch> FindRoute(std::string_view verb, std::string_view path);

}  // namespace mercer::gateway
