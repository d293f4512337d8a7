// Aliases of model versions and their history.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "server/storage/model_store.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// On the writer's connection: appends to the history and moves the alias. As ModelStore::MoveAlias.
absl::StatusOr<AliasRecord> ApplyMove(Connection& connection, const AliasMove& move);

// As the methods of ModelStore.
absl::StatusOr<std::optional<AliasRecord>> FindAliasMove(Connection& connection,
                                                         const std::string& caller,
                                                         const std::string& request_id,
                                                         const std::string& request_digest);
// `time` InfiniteFuture: now.
absl::StatusOr<AliasRecord> ReadAliasAt(Connection& connection, const std::string& model,
                                        const std::string& alias, absl::Time time);
absl::StatusOr<Page<AliasRecord>> ReadAliasPage(Connection& connection, const std::string& model,
                                                const PageRequest& page);
absl::StatusOr<Page<AliasChange>> ReadChangePage(Connection& connection, const std::string& model,
                                                 const std::string& alias, const PageRequest& page);

}  // namespace mercer::server
