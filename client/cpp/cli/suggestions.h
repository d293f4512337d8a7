// "Did you mean ...?" for names that do not exist.
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

// A line to print after `status`, an error about a model, data set or job that does not exist;
// empty when the server has nothing of a similar name or does not say so at once.
std::string Suggest(Session& session, const absl::Status& status);

}  // namespace mercer::client
