// What to do about an error: "Did you mean ...?"
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "client/cpp/cli/session.h"

namespace mercer::client {

// Letters to insert, delete, replace or exchange with their neighbour to make `b` of `a`.
int EditDistance(const std::string& a, const std::string& b);

// The names of `known` that a typing error could have made `wrong` of, nearest first, at most three.
std::vector<std::string> NearNames(const std::string& wrong, const std::vector<std::string>& known);

// A line to print after the error `status`: names like that of a model or data set that does not
// exist, or how to leave out columns that a model does not know. Empty when there is nothing to say.
std::string Suggest(Session& session, const absl::Status& status);

}  // namespace mercer::client
