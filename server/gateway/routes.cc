#include "server/gateway/routes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/api/annotations.pb.h"

#include "core/base/status/errors.h"
#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/gateway/http/http_message.h"
#include "server/gateway/http/url.h"

namespace mercer::gateway {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

// Named by their types, so that they are linked.
std::vector<const FileDescriptor*> FilesOfServices() {
  return {
      v1::GetJobRequest::descriptor()->file(),        v1::GetDatasetRequest::descriptor()->file(),
      v1::GetModelRequest::descriptor()->file(),      v1::PredictRequest::descriptor()->file(),
      v1::GetServerInfoRequest::descriptor()->file(), v1::BackupRequest::descriptor()->file()};
}

CallKind KindOf(const MethodDescriptor& method) {
  if (method.client_streaming()) {
    return CallKind::kUpload;
  }
  if (!method.server_streaming()) {
    return CallKind::kUnary;
  }
  const bool is_file = method.output_type()->FindFieldByName("chunk") != nullptr;
  return is_file ? CallKind::kExport : CallKind::kEvents;
}

// "job" of "jobs", "alias" of "aliases".
absl::string_view Singular(absl::string_view collection) {
  return absl::StripSuffix(collection, absl::EndsWith(collection, "ses") ? "es" : "s");
}

// "jobs/{job}" of "jobs/*": each thing has the name of its collection.
std::string NameVariables(absl::string_view pattern) {
  std::vector<std::string> segments = absl::StrSplit(pattern, '/');
  for (size_t i = 1; i < segments.size(); ++i) {
    if (segments[i] == "*") {
      segments[i] = absl::StrCat("{", Singular(segments[i - 1]), "}");
    }
  }
  return absl::StrJoin(segments, "/");
}

// `pattern`: "/v1/{name=jobs/*}:cancel".
void SetPath(absl::string_view pattern, Route& route) {
  const size_t open = pattern.find('{');
  const size_t equals = pattern.find('=');
  const size_t close = pattern.find('}');
  if (open == absl::string_view::npos) {
    route.path = std::string(pattern);
    return;
  }
  const std::string named = NameVariables(pattern.substr(equals + 1, close - equals - 1));
  route.path = absl::StrCat(pattern.substr(0, open), named, pattern.substr(close + 1));
  route.field = std::string(pattern.substr(open + 1, equals - open - 1));
  route.value = named;
}

Route MakeRoute(const MethodDescriptor& method, const google::api::HttpRule& rule) {
  Route route;
  route.method = absl::StrCat(method.service()->name(), "/", method.name());
  route.kind = KindOf(method);
  route.descriptor = &method;
  route.has_body = !rule.body().empty();
  const google::protobuf::FieldDescriptor* const verb =
      rule.GetReflection()->GetOneofFieldDescriptor(
          rule, rule.GetDescriptor()->FindOneofByName("pattern"));
  route.verb = absl::AsciiStrToUpper(verb->name());
  SetPath(rule.GetReflection()->GetString(rule, verb), route);
  return route;
}

std::vector<Route> MakeRoutes() {
  std::vector<Route> routes;
  for (const FileDescriptor* file : FilesOfServices()) {
    for (int i = 0; i < file->service(0)->method_count(); ++i) {
      const MethodDescriptor& method = *file->service(0)->method(i);
      if (!method.options().HasExtension(google::api::http)) {
        continue;
      }
      const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
      routes.push_back(MakeRoute(method, rule));
      const bool sets = routes.back().has_body;
      for (const google::api::HttpRule& further : rule.additional_bindings()) {
        routes.push_back(MakeRoute(method, further));
        routes.back().removes = sets && routes.back().verb == "DELETE";
      }
    }
  }
  return routes;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// "{job}" and "cancel" of "{job}:cancel"; without an action that is empty.
std::pair<absl::string_view, absl::string_view> SplitAction(absl::string_view segment) {
  const size_t colon = std::min(segment.rfind(':'), segment.size());
  return {segment.substr(0, colon), absl::ClippedSubstr(segment, colon + 1)};
}

// A variable is never empty, and never more than one segment, however it is written.
bool MatchSegment(absl::string_view pattern, absl::string_view given, Variables& variables) {
  const auto [wanted, wanted_action] = SplitAction(pattern);
  const auto [found, action] = SplitAction(given);
  if (wanted_action != action) {
    return false;
  }
  if (!absl::StartsWith(wanted, "{")) {
    return wanted == found;
  }
  const auto value = DecodePercents({found.data(), found.size()}, /*plus_is_space=*/false);
  if (!value.has_value() || value->empty() || value->find('/') != std::string::npos) {
    return false;
  }
  variables.emplace_back(std::string(wanted), *value);
  return true;
}

bool MatchPath(const Route& route, const std::vector<absl::string_view>& given,
               Variables& variables) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(route.path, '/');
  if (wanted.size() != given.size()) {
    return false;
  }
  variables.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!MatchSegment(wanted[i], given[i], variables)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Span<const Route> AllRoutes() {
  static const std::vector<Route> routes = MakeRoutes();
  return routes;
}

absl::StatusOr<RouteMatch> FindRoute(std::string_view verb, std::string_view path) {
  const std::vector<absl::string_view> given = absl::StrSplit(View(path), '/');
  std::vector<std::string> others;
  Variables variables;
  for (const Route& route : AllRoutes()) {
    if (!MatchPath(route, given, variables)) {
      continue;
    }
    if (route.verb == verb) {
      return RouteMatch{&route, absl::StrReplaceAll(route.value, variables)};
    }
    others.push_back(route.verb);
  }
  if (others.empty()) {
    return WithReason(absl::NotFoundError("the API has no such path"), "NO_SUCH_PATH");
  }
  const std::string allow = absl::StrJoin(others, ", ");
  return WithReason(absl::UnimplementedError(absl::StrCat("this path is for ", allow)),
                    "METHOD_NOT_ALLOWED", {{"allow", allow}});
}

}  // namespace mercer::gateway
