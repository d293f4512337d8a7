// The paths of the API: the one table that says which RPC each stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace mercer::gateway {

enum class CallKind : uint8_t {
  kUnary,
  kUpload,    // the body is the file
  kExport,    // the answer is the file
  kProgress,  // the answer is a stream of events
};

struct Route {
  std::string_view verb;  // "POST"
  std::string_view
      path;  // "/v1/jobs/{job}:cancel"; a variable stands for one segment or its part before the colon
  std::string_view method;  // "TrainingService/CancelJob"
  std::string_view field;  // of the request, which the path says: "name", "model.name"; empty: none
  std::string_view value;  // what it says: "jobs/{job}"
  CallKind kind = CallKind::kUnary;
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
