#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/models.h"

namespace mercer::server {
namespace {

// A model's number and its next version.
using NextVersion = std::pair<int64_t, int64_t>;

absl::StatusOr<NextVersion> TakeNextVersion(Connection& connection, const OwnedModel& model,
                                            absl::Time now) {
  // A model that lost all its versions is made anew, by a new owner, but goes on counting.
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<NextVersion> next,
      connection.SelectAll<NextVersion>(
          "INSERT INTO models(name, next_version, create_time, update_time, owner) "
          "VALUES (?1, 2, ?2, ?2, ?3) "
          "ON CONFLICT(name) DO UPDATE SET next_version = next_version + 1, update_time = ?2, "
          "create_time = CASE WHEN EXISTS (SELECT 1 FROM versions WHERE versions.model = "
          "models.number) THEN create_time ELSE ?2 END, "
          "owner = CASE WHEN EXISTS (SELECT 1 FROM versions WHERE versions.model = "
          "models.number) THEN owner ELSE ?3 END "
          "RETURNING number, next_version - 1",
          model.name, now, model.owner));
  if (next.empty()) {
    return absl::InternalError("database: the model was not written");
  }
  return next.front();
}

void AddBlob(std::vector<BlobDigest>& blobs, BlobDigest blob) {
  if (!blob.empty() && std::find(blobs.begin(), blobs.end(), blob) == blobs.end()) {
    blobs.push_back(std::move(blob));
  }
}

// The version and blobs of every row of a statement that gives these three columns.
template <typename... Values>
absl::StatusOr<DeletedVersions> ReadDeleted(Connection& connection, std::string_view sql,
                                            const Values&... values) {
  DeletedVersions deleted;
  const auto add = [&](const Statement& row) {
    deleted.versions.push_back(row.Int64(0));
    AddBlob(deleted.released_blobs, row.Bytes(1));
    AddBlob(deleted.released_blobs, row.Bytes(2));
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(connection.ForEachRow(add, sql, values...));
  std::sort(deleted.versions.begin(), deleted.versions.end());
  return deleted;
}

// What hangs on a model that has no versions any more.
absl::Status ClearEmptyModel(Connection& connection, int64_t model) {
  MERCER_RETURN_IF_ERROR(
      connection.Run("DELETE FROM model_labels WHERE owner = ?1 AND NOT EXISTS (SELECT 1 FROM "
                     "versions WHERE model = ?1)",
                     model));
  return connection.Run(
      "UPDATE models SET display_name = '', description = '', keep_newest = 0, revision = revision "
      "+ 1 WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM versions WHERE model = ?1)",
      model);
}

// The versions before this one are to go; 0: none is.
absl::StatusOr<int64_t> OldestKept(Connection& connection, int64_t model, int64_t keep_newest) {
  if (keep_newest == 0) {
    return 0;
  }
  return connection.SelectValue<int64_t>(
      "SELECT version FROM versions WHERE model = ? ORDER BY version DESC LIMIT 1 OFFSET ?", model,
      keep_newest - 1);
}

}  // namespace

absl::StatusOr<int64_t> InsertVersion(Connection& connection, const OwnedModel& model,
                                      const JobRecord& job, const NewVersion& version,
                                      absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const NextVersion next, TakeNextVersion(connection, model, now));
  MERCER_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO versions(model, version, job_id, learner, model_blob, model_bytes, "
      "witness_blob, witness_bytes, summary, create_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      next.first, next.second, job.id, version.learner, version.model_blob, version.model_bytes,
      version.witness_blob, version.witness_bytes, Blob{version.summary}, now));
  const int64_t number = connection.last_row_id();
  MERCER_RETURN_IF_ERROR(InsertLabels(connection, kVersionLabels, number, version.labels));
  MERCER_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO version_datasets(version, position, dataset_id) SELECT ?, position, dataset_id "
      "FROM checked_job_datasets WHERE job = ?",
      number, job.number));
  return next.second;
}

absl::StatusOr<DeletedVersions> DeleteVersions(Connection& connection, const std::string& model,
                                               int64_t version, absl::Time now,
                                               const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(const ModelRow row, RequireModelRow(connection, model, check, version));
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<std::string> aliases,
      connection.SelectAll<std::string>(
          "SELECT alias FROM aliases WHERE model = ?1 AND (?2 = 0 OR version = ?2) ORDER BY 1",
          row.number, version));
  if (!aliases.empty()) {
    return VersionHasAlias(model, version, aliases);
  }
  MERCER_ASSIGN_OR_RETURN(
      DeletedVersions deleted,
      ReadDeleted(connection,
                  "DELETE FROM versions WHERE model = ?1 AND (?2 = 0 OR version = ?2) "
                  "RETURNING version, model_blob, witness_blob",
                  row.number, version));
  if (deleted.versions.empty()) {
    return ModelNotFound(model, version);
  }
  MERCER_RETURN_IF_ERROR(ClearEmptyModel(connection, row.number));
  MERCER_RETURN_IF_ERROR(
      connection.Run("UPDATE models SET update_time = ? WHERE number = ?", now, row.number));
  return deleted;
}

absl::StatusOr<DeletedVersions> DeleteOldVersions(Connection& connection,
                                                  const std::string& model) {
  MERCER_ASSIGN_OR_RETURN(const ModelRow row, RequireModelRow(connection, model));
  MERCER_ASSIGN_OR_RETURN(const int64_t oldest_kept,
                          OldestKept(connection, row.number, row.keep_newest));
  if (oldest_kept == 0) {
    return DeletedVersions();
  }
  return ReadDeleted(connection,
                     "DELETE FROM versions WHERE model = ?1 AND version < ?2 AND version NOT IN "
                     "(SELECT version FROM aliases WHERE model = ?1) "
                     "RETURNING version, model_blob, witness_blob",
                     row.number, oldest_kept);
}

absl::StatusOr<DeletedVersions> ChangeRetention(Connection& connection,
                                                const RetentionChange& change) {
  MERCER_ASSIGN_OR_RETURN(
      const ModelRow row,
      RequireModelRow(connection, change.model, change.dry_run ? nullptr : change.check));
  if (change.dry_run) {
    MERCER_ASSIGN_OR_RETURN(const int64_t oldest_kept,
                            OldestKept(connection, row.number, change.keep_newest));
    return ReadDeleted(connection,
                       "SELECT version, model_blob, witness_blob FROM versions WHERE model = ?1 "
                       "AND version < ?2 AND version NOT IN (SELECT version FROM aliases WHERE "
                       "model = ?1)",
                       row.number, oldest_kept);
  }
  MERCER_RETURN_IF_ERROR(
      connection.Run("UPDATE models SET keep_newest = ?, update_time = ? WHERE number = ?",
                     change.keep_newest, change.now, row.number));
  return DeleteOldVersions(connection, change.model);
}

absl::StatusOr<ModelRecord> ChangeModel(Connection& connection, const ModelUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(const ModelRecord model, FindModel(connection, update.model));
  MERCER_ASSIGN_OR_RETURN(
      const bool changed,
      ApplyUpdate(
          connection, update,
          {absl::StrCat("the model '", update.model, "'"), ModelEtag(model), "models", kModelLabels,
           model.number, model.owner, model.labels, &model.display_name, &model.description}));
  if (!changed) {
    return model;
  }
  MERCER_RETURN_IF_ERROR(connection.Run("UPDATE models SET update_time = ? WHERE number = ?",
                                        update.now, model.number));
  return FindModel(connection, update.model);
}

absl::StatusOr<VersionRecord> ChangeVersion(Connection& connection, const VersionUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord version,
                          FindVersion(connection, update.model, update.version));
  MERCER_ASSIGN_OR_RETURN(
      const bool changed,
      ApplyUpdate(connection, update,
                  {absl::StrCat("version ", update.version, " of the model '", update.model, "'"),
                   VersionEtag(version), "versions", kVersionLabels, version.number, version.owner,
                   version.labels, nullptr, &version.description}));
  if (!changed) {
    return version;
  }
  MERCER_RETURN_IF_ERROR(
      connection.Run("UPDATE models SET update_time = ? WHERE name = ?", update.now, update.model));
  return FindVersion(connection, update.model, update.version);
}

}  // namespace mercer::server
