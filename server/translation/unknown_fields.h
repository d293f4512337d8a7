// Refuses what a request says and the server does not understand: unknown field numbers and unknown
// enum values, at any depth.
#pragma once

#include <google/protobuf/message.h>

#include "core/base/status/errors.h"

namespace mercer::server {

// Adds one violation for each unknown field ("stopping: unknown field number 9") and each enum
// value without a name.
void CheckUnknownFields(const google::protobuf::Message& message, FieldViolations& violations);

}  // namespace mercer::server
