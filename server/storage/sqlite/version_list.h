// Which models and versions a page of a list with a filter or an order shows.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "server/storage/model_store.h"
#include "server/storage/sqlite/connection.h"
#include "server/storage/sqlite/filter_sql.h"

namespace mercer::server {

// Numbers of the models whose newest version passes, at most `limit`, behind the key `after` (empty: from the start). A key is
// the model's name, or the number of the version's row when the order is that of creation.
absl::StatusOr<FoundRows> FindModels(Connection& connection, const VersionFilter& filter,
                                     std::string_view after, int limit);

// Numbers of the rows of versions of the model that pass; a key is the version. Names and creation are in the same order.
absl::StatusOr<FoundRows> FindVersions(Connection& connection, const std::string& model,
                                       const VersionFilter& filter, std::string_view after,
                                       int limit);

}  // namespace mercer::server
