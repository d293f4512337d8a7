// Errors as HTTP has them: a status and a body {"error": {...}} with the details of google.rpc.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "google/rpc/status.pb.h"
#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

// `text` as a string of JSON.
std::string JsonText(const std::string& text);

// Of the numbers of google.rpc.Code.
int HttpStatusOf(int code);

// The object behind "error" as JSON: code (of HTTP), status ("NOT_FOUND"), message, details.
std::string ErrorJson(const google::rpc::Status& status, int http_status);

// Retry-After comes from RetryInfo.
Answer ErrorAnswer(const google::rpc::Status& status);
// Errors of the gateway itself. `http_status` 0: by the code. `close`: the connection ends.
Answer ErrorAnswer(const absl::Status& status, int http_status = 0, bool close = false);

// For the errors of ReadBody; the connection ends, as the rest of the body may come.
Answer BodyErrorAnswer(const absl::Status& status);

// For what is no request of HTTP, or one that it does not understand.
Answer BadRequestAnswer(int http_status);
Answer InternalErrorAnswer();

}  // namespace mercer::gateway
