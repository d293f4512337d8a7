// Models and versions on the writer's connection.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/model_store.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

struct OwnedModel {
  std::string name;
  std::string owner;
};

// Adds the next version of the model, which is made, and then gets the owner, when it is missing; answers its number.
absl::StatusOr<int64_t> InsertVersion(Connection& connection, const OwnedModel& model,
                                      const std::string& job_id, const NewVersion& version,
                                      absl::Time now);
absl::StatusOr<DeletedVersions> DeleteVersions(Connection& connection, const std::string& model,
                                               int64_t version, absl::Time now,
                                               const OwnerCheck& check);
// Those that the model's keep_newest no longer keeps.
absl::StatusOr<DeletedVersions> DeleteOldVersions(Connection& connection, const std::string& model);
absl::StatusOr<DeletedVersions> ChangeRetention(Connection& connection,
                                                const RetentionChange& change);
absl::Status ChangeModel(Connection& connection, const ModelUpdate& update);
absl::Status ChangeVersion(Connection& connection, const VersionUpdate& update);

}  // namespace mercer::server
