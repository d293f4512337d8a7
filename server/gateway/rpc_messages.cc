#include "server/gateway/rpc_messages.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/gateway/http/url.h"
#include "server/gateway/request_binding.h"

namespace mercer::gateway {

const google::protobuf::MethodDescriptor* FindMethod(std::string_view method) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(absl::string_view(method.data(), method.size()), '/');
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      absl::StrCat("mercer.v1.", parts.first, ".", parts.second));
}

void PrepareMessages() {
  std::vector<const google::protobuf::FileDescriptor*> waiting = {
      google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
          "google/rpc/error_details.proto")};
  for (const Route& route : AllRoutes()) {
    const google::protobuf::MethodDescriptor* const method = FindMethod(route.method);
    waiting.push_back(method == nullptr ? nullptr : method->file());
  }
  std::set<const google::protobuf::FileDescriptor*> prepared;
  while (!waiting.empty()) {
    const google::protobuf::FileDescriptor* const file = waiting.back();
    waiting.pop_back();
    if (file == nullptr || !prepared.insert(file).second) {
      continue;
    }
    for (int i = 0; i < file->message_type_count(); ++i) {
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(file->message_type(i))
          ->GetReflection();
    }
    for (int i = 0; i < file->dependency_count(); ++i) {
      waiting.push_back(file->dependency(i));
    }
  }
}

std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

absl::Status BindRequest(const RouteMatch& match, const RequestHead& head, bool has_json,
                         google::protobuf::Message& message) {
  const std::optional<Parameters> parameters = ParseQuery(QueryOf(head.target));
  if (!parameters.has_value()) {
    return WithReason(absl::InvalidArgumentError("the query is not coded as in URLs, in UTF-8"),
                      "BAD_QUERY");
  }
  FieldViolations violations;
  if (has_json && !parameters->empty()) {
    violations.Add(parameters->front().first, "belongs into the body");
  }
  BindParameters(*parameters, message, violations);
  if (!match.route->field.empty()) {
    BindText(match.route->field, match.value, message, violations);
  }
  return violations.ToStatus();
}

absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeRequestMessage(
    const RouteMatch& match, const RequestHead& head, std::string_view body,
    const WireCheck& check) {
  const google::protobuf::MethodDescriptor* method = FindMethod(match.route->method);
  if (method == nullptr) {
    return absl::InternalError("a route leads to no RPC");
  }
  std::unique_ptr<google::protobuf::Message> message = NewMessage(*method->input_type());
  const bool has_body = match.route->has_body;
  if (!has_body && !body.empty()) {
    return WithReason(absl::InvalidArgumentError("this method takes no body, but a query"),
                      "BAD_JSON");
  }
  MERCER_RETURN_IF_ERROR(ReadJson(body, *message, check));
  MERCER_RETURN_IF_ERROR(BindRequest(match, head, has_body, *message));
  return message;
}

}  // namespace mercer::gateway
