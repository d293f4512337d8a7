// Page tokens: opaque, safe in URLs, and bound to the query that made them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/records.h"

namespace mercer::server {

// kInvalidArgument with reason BAD_PAGE_TOKEN.
absl::Status BadPageToken();
// `query` names the list and its filter; `key` is the last key of the page.
std::string MakePageToken(std::string_view query, std::string_view key);
// The key; of an empty token, which is that of the first page, the empty one. Errors: kInvalidArgument (reason BAD_PAGE_TOKEN: damaged,
// or made by another query).
absl::StatusOr<std::string> ReadPageToken(std::string_view query, std::string_view token);
// The same for keys that are numbers; the first page has `first`.
absl::StatusOr<int64_t> ReadPageToken(std::string_view query, std::string_view token,
                                      int64_t first);

// The number of items to return. Errors: kInvalidArgument (negative; reason BAD_PAGE_SIZE).
absl::StatusOr<int> EffectivePageSize(const PageRequest& page);

}  // namespace mercer::server
