#include "server/rpc/audit.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <spdlog/spdlog.h>

#include "core/base/status/errors.h"
#include "server/translation/error_details.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxAuditTextBytes = 128;

// The text of the field `name`; empty when there is no such field.
std::string TextOf(const google::protobuf::Message& message, const char* name) {
  const google::protobuf::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  const bool is_text = field != nullptr && !field->is_repeated() &&
                       field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
  return is_text ? message.GetReflection()->GetString(message, field) : "";
}

// The field `resource`, or the name in it where it is a message; empty when there is no such field.
std::string NameIn(const google::protobuf::Message& request, const char* resource) {
  const google::protobuf::FieldDescriptor* field =
      request.GetDescriptor()->FindFieldByName(resource);
  const bool is_message = field != nullptr && !field->is_repeated() &&
                          field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
  return is_message ? TextOf(request.GetReflection()->GetMessage(request, field), "name")
                    : TextOf(request, resource);
}

// On one line, whatever the client has written.
std::string Escaped(const std::string& text) {
  return absl::CHexEscape(text.substr(0, kMaxAuditTextBytes));
}

}  // namespace

AuditSubject SubjectOf(const google::protobuf::Message& request,
                       const google::protobuf::Message& response, const std::string& owner) {
  AuditSubject subject;
  for (const std::string& name :
       {TextOf(response, "name"), TextOf(request, "name"), NameIn(request, "model"),
        NameIn(request, "model_version"), NameIn(request, "job"), NameIn(request, "dataset")}) {
    if (subject.resource.empty()) {
      subject.resource = name;
    }
  }
  subject.request_id = TextOf(request, "request_id");
  subject.owner = TextOf(response, "owner");
  if (subject.owner.empty()) {
    subject.owner = owner;
  }
  return subject;
}

void LogAudit(spdlog::logger& log, const AuditedCall& call, const absl::Status& status) {
  const ErrorMetadata metadata = GetErrorMetadata(status);
  const std::string caller = call.caller.empty() ? Find(metadata, "caller") : call.caller;
  const std::string owner =
      call.subject.owner.empty() ? Find(metadata, "owner") : call.subject.owner;
  log.log(call.refused ? spdlog::level::warn : spdlog::level::info,
          "{} caller={} method={} resource=\"{}\" code={} reason={} request_id=\"{}\" peer={} "
          "trace={}{}",
          call.refused ? "refused" : "audit", caller.empty() ? "-" : caller, call.method,
          Escaped(call.subject.resource), absl::StatusCodeToString(status.code()),
          GetReason(status), Escaped(call.subject.request_id), Escaped(call.peer),
          call.trace_id.empty() ? "-" : call.trace_id,
          owner.empty() || owner == caller ? "" : absl::StrCat(" owner=", owner));
}

}  // namespace mercer::server
