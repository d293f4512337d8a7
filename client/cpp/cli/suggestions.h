// What to do about an error: "Did you mean ...?"
#pragma once

#include <string>

#include "absl/status/status.h"

#include "client/cpp/cli/session.h"

namespace mercer::client {

// A line to print after the error `status`: names like that of a model or data set that does not
// exist, or how to leave out columns that a model does not know. Empty when there is nothing to say.
std::string Suggest(Session& session, const absl::Status& status);

}  // namespace mercer::client
