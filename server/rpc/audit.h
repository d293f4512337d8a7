// Who changed what: one line of the log for each call that changes something, and for each that the
// door refuses. No token and nothing of a user's rows is in it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include <google/protobuf/message.h>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// What a call is about.
struct AuditSubject {
  std::string resource;    // "jobs/j-12"
  std::string request_id;  // as the client gave it
  std::string owner;       // of the resource; empty: nobody or not known
};

// By the fields `name` (of the answer, else of the request), `model` (or the name in it), `request_id` and `owner` (of the
// answer, else `owner`), where the messages have them.
AuditSubject SubjectOf(const google::protobuf::Message& request,
                       const google::protobuf::Message& response, const std::string& owner = "");

struct AuditedCall {
  std::string method;
  std::string caller;  // empty: the door did not get to know
  std::string peer;    // "ipv4:127.0.0.1:40000"
  AuditSubject subject;
  bool refused = false;  // at the door
  std::string trace_id;  // empty: none
};

// At level info; refusals at level warning. Texts of the client are escaped and cut. The owner is named where he is another
// than the caller.
void LogAudit(spdlog::logger& log, const AuditedCall& call, const absl::Status& status);

}  // namespace mercer::server
