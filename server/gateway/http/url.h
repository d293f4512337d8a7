// Paths and queries as URLs have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mercer::gateway {

// The text that %XX (and '+', in queries) stand for; none: a % without two hexadecimal digits.
std::optional<std::string> DecodePercents(std::string_view text, bool plus_is_space);

// The parts of a request's target, before any decoding: "/v1/jobs" and "pageSize=3".
std::string_view PathOf(std::string_view target);
std::string_view QueryOf(std::string_view target);

using Parameters = std::vector<std::pair<std::string, std::string>>;

// In their order. Empty parts between two '&' are skipped. Errors: kInvalidArgument with reason BAD_QUERY.
absl::StatusOr<Parameters> ParseQuery(std::string_view query);

}  // namespace mercer::gateway
