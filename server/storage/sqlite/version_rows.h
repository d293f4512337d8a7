// Reading of models and versions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "server/storage/records.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// The columns that ReadModelRow expects, of models that have a version where `newest` is not NULL; it and the count after it come
// from one look at the versions' index.
inline constexpr char kSelectModel[] =
    "SELECT models.number, name, description, create_time, update_time, "
    "(SELECT MAX(version) FROM versions WHERE model = models.number) AS newest, "
    "(SELECT COUNT(*) FROM versions WHERE model = models.number), keep_newest, owner, "
    "display_name, revision FROM checked_models AS models ";

// The model of the current row, with labels and aliases.
absl::StatusOr<ModelRecord> ReadModelRow(Connection& connection, const Statement& row);

struct NumberedModel {
  int64_t number = 0;  // of its row
  ModelRecord record;
};

// Errors: kNotFound.
absl::StatusOr<NumberedModel> FindModel(Connection& connection, const std::string& name);

// The columns that ReadVersionRow expects, and the tables that they come from.
inline constexpr char kSelectVersion[] =
    "SELECT versions.number, name, version, job_id, learner, model_blob, model_bytes, "
    "witness_blob, witness_bytes, summary, versions.create_time, versions.description, "
    "versions.revision, versions.model, owner FROM checked_versions AS versions JOIN "
    "checked_models AS models ON "
    "models.number = versions.model ";

// The version of the current row, with labels and aliases.
absl::StatusOr<VersionRecord> ReadVersionRow(Connection& connection, const Statement& row);

struct NumberedVersion {
  int64_t number = 0;  // of its row
  VersionRecord record;
};

// `version` 0: the newest. Errors: kNotFound.
absl::StatusOr<NumberedVersion> FindVersion(Connection& connection, const std::string& model,
                                            int64_t version);

}  // namespace mercer::server
