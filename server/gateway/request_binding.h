// The request message of an RPC from the parts of a request of HTTP.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <google/protobuf/message.h>

#include "core/base/status/errors.h"
#include "server/gateway/http/url.h"

namespace mercer::gateway {

// Sets the fields that the parameters name, in either spelling: "pageSize=3", "states=JOB_STATE_RUNNING" (again for a
// further one), "labels.team=a", "asOfTime=2026-01-31T00:00:00Z", "model.description=x". Adds a violation for each
// parameter that names no field, has no value of its type, or comes twice.
void BindParameters(const Parameters& parameters, google::protobuf::Message& message,
                    FieldViolations& violations);

// Sets the field `path`, "name" or "model.name", of type text; a violation when it has another value already.
void BindText(std::string_view path, const std::string& value, google::protobuf::Message& message,
              FieldViolations& violations);

}  // namespace mercer::gateway
