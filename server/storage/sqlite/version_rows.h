// Reading of model versions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "server/storage/records.h"
#include "server/storage/sqlite/connection.h"

namespace mercer::server {

// The columns that ReadVersionRow expects, and the tables that they come from.
inline constexpr char kSelectVersion[] =
    "SELECT versions.number, name, version, job_id, learner, model_blob, model_bytes, "
    "witness_blob, witness_bytes, summary, versions.create_time, versions.description, revision, "
    "versions.model, owner FROM checked_versions AS versions JOIN checked_models AS models ON "
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
