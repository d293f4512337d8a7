// The messages of an RPC that is known by its name alone, and what the parts of a request of HTTP say in them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "core/base/status/errors.h"
#include "server/gateway/http/http_message.h"
#include "server/gateway/http/url.h"
#include "server/gateway/message_json.h"
#include "server/gateway/routes.h"

namespace mercer::gateway {

// Makes what protobuf keeps of the messages of all RPCs for looking into them. It does so of the messages of a file when one of them is
// looked into first; an allocation that fails in the midst of that would leave them unusable for as long as the process lives.
void PrepareMessages();

std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);

// Sets the fields that the parameters name, in either spelling: "pageSize=3", "states=JOB_STATE_RUNNING" (again for a
// further one), "labels.team=a", "asOfTime=2026-01-31T00:00:00Z", "model.description=x". Adds a violation for each
// parameter that names no field, or has no value of its type; of one that comes twice, and is not repeated, the last counts.
void BindParameters(const Parameters& parameters, google::protobuf::Message& message,
                    FieldViolations& violations);

// Does so of the parameters that name fields of `message`. Answers the others.
Parameters BindKnown(const Parameters& parameters, google::protobuf::Message& message,
                     FieldViolations& violations);

// Sets the field `path`, "name" or "model.name", of type text; a violation when it has another value already.
void BindText(std::string_view path, const std::string& value, google::protobuf::Message& message,
              FieldViolations& violations);

// Sets the fields of `message` that path and query say; with a body of JSON the query must be empty. Errors: kInvalidArgument with
// reason BAD_QUERY or BAD_FIELDS.
absl::Status BindRequest(const RouteMatch& match, const RequestHead& head, bool has_json,
                         google::protobuf::Message& message);

// The request message out of path, query and (for verbs that have one) `body`, which must have the resource that a path like
// "job.name" is about. Errors: kInvalidArgument with reason BAD_JSON, BAD_QUERY or BAD_FIELDS; those of `check`.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeRequestMessage(
    const RouteMatch& match, const RequestHead& head, std::string_view body,
    const WireCheck& check = nullptr);

}  // namespace mercer::gateway
