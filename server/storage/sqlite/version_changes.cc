#include "server/storage/sqlite/version_changes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

struct NumberedModel {
  int64_t number = 0;
  int64_t next_version = 1;
};

absl::StatusOr<NumberedModel> TakeNextVersion(Connection& connection, const std::string& model,
                                              absl::Time now) {
  // A model that lost all its versions is made anew, but goes on counting.
  MERCER_ASSIGN_OR_RETURN(
      Statement upsert,
      connection.Prepare(
          "INSERT INTO models(name, next_version, create_time, update_time) VALUES (?1, 2, ?2, ?2) "
          "ON CONFLICT(name) DO UPDATE SET next_version = next_version + 1, update_time = ?2, "
          "create_time = "
          "CASE WHEN EXISTS (SELECT 1 FROM versions WHERE versions.model = models.number) THEN "
          "create_time "
          "ELSE ?2 END RETURNING number, next_version - 1"));
  MERCER_ASSIGN_OR_RETURN(const bool found, upsert.Bind(model).BindTime(now).Step());
  if (!found) {
    return absl::InternalError("database: the model was not written");
  }
  const NumberedModel result{upsert.Int64(0), upsert.Int64(1)};
  MERCER_RETURN_IF_ERROR(upsert.Run());
  return result;
}

void AddBlob(std::vector<BlobDigest>& blobs, BlobDigest blob) {
  if (!blob.empty() && std::find(blobs.begin(), blobs.end(), blob) == blobs.end()) {
    blobs.push_back(std::move(blob));
  }
}

// Versions of the model numbered `version`, or all with version 0.
absl::StatusOr<DeletedVersions> DeleteVersionRows(Connection& connection, int64_t model,
                                                  int64_t version) {
  MERCER_ASSIGN_OR_RETURN(
      Statement remove,
      connection.Prepare("DELETE FROM versions WHERE model = ?1 AND (?2 = 0 OR version = ?2) "
                         "RETURNING version, model_blob, witness_blob"));
  remove.Bind(model).Bind(version);
  DeletedVersions deleted;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, remove.Step());
    if (!more) {
      std::sort(deleted.versions.begin(), deleted.versions.end());
      return deleted;
    }
    deleted.versions.push_back(remove.Int64(0));
    AddBlob(deleted.released_blobs, remove.Bytes(1));
    AddBlob(deleted.released_blobs, remove.Bytes(2));
  }
}

// What hangs on a model that has no versions any more.
absl::Status ClearEmptyModel(Connection& connection, int64_t model) {
  MERCER_ASSIGN_OR_RETURN(
      Statement labels,
      connection.Prepare("DELETE FROM model_labels WHERE owner = ?1 AND NOT EXISTS "
                         "(SELECT 1 FROM versions WHERE model = ?1)"));
  MERCER_RETURN_IF_ERROR(labels.Bind(model).Run());
  MERCER_ASSIGN_OR_RETURN(
      Statement description,
      connection.Prepare("UPDATE models SET description = '' WHERE number = ?1 AND NOT EXISTS "
                         "(SELECT 1 FROM versions WHERE model = ?1)"));
  return description.Bind(model).Run();
}

}  // namespace

absl::StatusOr<int64_t> InsertVersion(Connection& connection, const std::string& model,
                                      const std::string& job_id, const NewVersion& version,
                                      absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const NumberedModel next, TakeNextVersion(connection, model, now));
  MERCER_ASSIGN_OR_RETURN(
      Statement insert,
      connection.Prepare(
          "INSERT INTO versions(model, version, job_id, learner, model_blob, model_bytes, "
          "witness_blob, "
          "witness_bytes, summary, create_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(next.number).Bind(next.next_version).Bind(job_id).Bind(version.learner);
  insert.Bind(version.model_blob)
      .Bind(version.model_bytes)
      .Bind(version.witness_blob)
      .Bind(version.witness_bytes);
  MERCER_RETURN_IF_ERROR(insert.BindBlob(version.summary).BindTime(now).Run());
  MERCER_RETURN_IF_ERROR(
      InsertLabels(connection, LabelTable::kVersions, connection.last_row_id(), version.labels));
  return next.next_version;
}

absl::StatusOr<DeletedVersions> DeleteVersions(Connection& connection, const std::string& model,
                                               int64_t version, absl::Time now) {
  int64_t number = 0;
  {
    MERCER_ASSIGN_OR_RETURN(Statement select,
                            connection.Prepare("SELECT number FROM models WHERE name = ?"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Step());
    if (!found) {
      return ModelNotFound(model, version);
    }
    number = select.Int64(0);
  }
  MERCER_ASSIGN_OR_RETURN(DeletedVersions deleted, DeleteVersionRows(connection, number, version));
  if (deleted.versions.empty()) {
    return ModelNotFound(model, version);
  }
  MERCER_RETURN_IF_ERROR(ClearEmptyModel(connection, number));
  MERCER_ASSIGN_OR_RETURN(Statement touch,
                          connection.Prepare("UPDATE models SET update_time = ? WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(touch.BindTime(now).Bind(number).Run());
  return deleted;
}

}  // namespace mercer::server
