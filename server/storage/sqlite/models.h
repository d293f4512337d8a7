// Models, versions and aliases on a connection. The changes of ModelStore run on the writer's. Errors are those of the methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/model_store.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {

// What changes of a model with versions look at.
struct ModelRow {
  int64_t number = 0;
  std::string owner;
  int64_t keep_newest = 0;
};
absl::StatusOr<std::optional<ModelRow>> FindModelRow(Connection& connection,
                                                     const std::string& name);
// Errors: kNotFound (of its `version`, if one is asked for), those of `check`.
absl::StatusOr<ModelRow> RequireModelRow(Connection& connection, const std::string& name,
                                         const OwnerCheck& check = nullptr, int64_t version = 0);

// Of the model numbered `number`, at most `limit` behind the name `after`; by name.
absl::StatusOr<std::vector<AliasRecord>> SelectAliases(Connection& connection, int64_t number,
                                                       const std::string& model,
                                                       const std::string& after, int64_t limit);

// With labels and aliases. Errors: kNotFound; `version` 0: the newest.
absl::StatusOr<ModelRecord> FindModel(Connection& connection, const std::string& name);
absl::StatusOr<VersionRecord> FindVersion(Connection& connection, const std::string& model,
                                          int64_t version);

absl::StatusOr<Page<ModelRecord>> ReadModelPage(Connection& connection, const PageRequest& page,
                                                const ListQuery& query);
absl::StatusOr<Page<VersionRecord>> ReadVersionPage(Connection& connection, const std::string& name,
                                                    const PageRequest& page,
                                                    const VersionFilter& filter);

struct OwnedModel {
  std::string name;
  std::string owner;
};
// Adds the next version of the model, trained by the job; the model is made, and then gets the owner, when it is missing. Answers the
// number of the version.
absl::StatusOr<int64_t> InsertVersion(Connection& connection, const OwnedModel& model,
                                      const JobRecord& job, const NewVersion& version,
                                      absl::Time now);
absl::StatusOr<DeletedVersions> DeleteVersions(Connection& connection, const std::string& model,
                                               int64_t version, absl::Time now,
                                               const OwnerCheck& check);
// Those that the model's keep_newest no longer keeps.
absl::StatusOr<DeletedVersions> DeleteOldVersions(Connection& connection, const std::string& model);
absl::StatusOr<DeletedVersions> ChangeRetention(Connection& connection,
                                                const RetentionChange& change);
absl::StatusOr<ModelRecord> ChangeModel(Connection& connection, const ModelUpdate& update);
absl::StatusOr<VersionRecord> ChangeVersion(Connection& connection, const VersionUpdate& update);

absl::StatusOr<AliasRecord> ApplyMove(Connection& connection, const AliasMove& move);
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
