// Which models and versions a page of a list with a filter or an order shows.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "server/storage/model_store.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/filter_sql.h"

namespace mercer::server {

// Numbers of the models that pass, at most `limit`, behind the key `after` (empty: from the start).
absl::StatusOr<FoundRows> FindModels(Connection& connection, const ListQuery& query,
                                     std::string_view after, int limit);

// Numbers of the rows of versions that pass, of the model or with an empty name of all. Names and creation of the versions of one
// model are in the same order.
absl::StatusOr<FoundRows> FindVersions(Connection& connection, const std::string& model,
                                       const VersionFilter& filter, std::string_view after,
                                       int limit);

}  // namespace mercer::server
