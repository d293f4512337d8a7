#include "server/storage/sqlite/version_changes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"
#include "server/storage/sqlite/version_rows.h"

namespace mercer::server {
namespace {

struct NextVersion {
  int64_t model = 0;  // its number
  int64_t version = 1;
};

absl::StatusOr<NextVersion> TakeNextVersion(Connection& connection, const OwnedModel& model,
                                            absl::Time now) {
  // A model that lost all its versions is made anew, by a new owner, but goes on counting.
  MERCER_ASSIGN_OR_RETURN(
      Statement upsert,
      connection.Prepare(
          "INSERT INTO models(name, next_version, create_time, update_time, owner) "
          "VALUES (?1, 2, ?2, ?2, ?3) "
          "ON CONFLICT(name) DO UPDATE SET next_version = next_version + 1, update_time = ?2, "
          "create_time = CASE WHEN EXISTS (SELECT 1 FROM versions WHERE versions.model = "
          "models.number) THEN create_time ELSE ?2 END, "
          "owner = CASE WHEN EXISTS (SELECT 1 FROM versions WHERE versions.model = "
          "models.number) THEN owner ELSE ?3 END "
          "RETURNING number, next_version - 1"));
  upsert.Bind(model.name).BindTime(now).Bind(model.owner);
  MERCER_ASSIGN_OR_RETURN(const bool found, upsert.Step());
  if (!found) {
    return absl::InternalError("database: the model was not written");
  }
  const NextVersion result{upsert.Int64(0), upsert.Int64(1)};
  MERCER_RETURN_IF_ERROR(upsert.Run());
  return result;
}

void AddBlob(std::vector<BlobDigest>& blobs, BlobDigest blob) {
  if (!blob.empty() && std::find(blobs.begin(), blobs.end(), blob) == blobs.end()) {
    blobs.push_back(std::move(blob));
  }
}

// The version and blobs of every row of a statement that gives these three columns.
absl::StatusOr<DeletedVersions> ReadDeleted(Statement& rows) {
  DeletedVersions deleted;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) {
      std::sort(deleted.versions.begin(), deleted.versions.end());
      return deleted;
    }
    deleted.versions.push_back(rows.Int64(0));
    AddBlob(deleted.released_blobs, rows.Bytes(1));
    AddBlob(deleted.released_blobs, rows.Bytes(2));
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
  return ReadDeleted(remove);
}

// Aliases of the version, or with 0 of all versions.
absl::StatusOr<std::vector<std::string>> AliasesOf(Connection& connection, int64_t model,
                                                   int64_t version) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(
          "SELECT alias FROM aliases WHERE model = ?1 AND (?2 = 0 OR version = ?2) ORDER BY 1"));
  select.Bind(model).Bind(version);
  std::vector<std::string> aliases;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return aliases;
    }
    aliases.push_back(select.Bytes(0));
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
      Statement texts,
      connection.Prepare("UPDATE models SET display_name = '', description = '', keep_newest = 0, "
                         "revision = revision + 1 WHERE number = ?1 AND NOT EXISTS "
                         "(SELECT 1 FROM versions WHERE model = ?1)"));
  return texts.Bind(model).Run();
}

// Where retention cuts the versions of a model.
struct RetentionCut {
  int64_t model = 0;        // its number
  int64_t oldest_kept = 0;  // smaller ones are to go; 0: none is
};

// `keep_newest` absent: as the model says. Errors: kNotFound, those of `check`.
absl::StatusOr<RetentionCut> FindCut(Connection& connection, const std::string& model,
                                     std::optional<int64_t> keep_newest, const OwnerCheck& check) {
  RetentionCut cut;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(
            "SELECT number, keep_newest, owner FROM checked_models AS models "
            "WHERE name = ? AND EXISTS (SELECT 1 FROM versions WHERE model = models.number)"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Step());
    if (!found) {
      return ModelNotFound(model, 0);
    }
    MERCER_RETURN_IF_ERROR(CheckOwner(check, select.Bytes(2)));
    cut.model = select.Int64(0);
    keep_newest = keep_newest.value_or(select.Int64(1));
  }
  if (*keep_newest == 0) {
    return cut;
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement oldest, connection.Prepare("SELECT version FROM versions WHERE model = ? ORDER BY "
                                           "version DESC LIMIT 1 OFFSET ?"));
  MERCER_ASSIGN_OR_RETURN(const bool found, oldest.Bind(cut.model).Bind(*keep_newest - 1).Step());
  cut.oldest_kept = found ? oldest.Int64(0) : 0;
  return cut;
}

// What an update finds.
struct Described {
  std::string what;  // "the model 'm'"
  std::string etag;
  const Labels& labels;
  std::string display_name;
  std::string description;
};

// Whether the update changes anything. One that was made already does not, whatever its etag. Errors: kAborted (STALE_ETAG).
absl::StatusOr<bool> Changes(const ModelUpdate& update, const Described& current) {
  const bool changes = update.labels.value_or(current.labels) != current.labels ||
                       update.display_name.value_or(current.display_name) != current.display_name ||
                       update.description.value_or(current.description) != current.description;
  if (changes && !update.etag.empty() && update.etag != current.etag) {
    return StaleEtag(current.what, update.etag, current.etag);
  }
  return changes;
}

}  // namespace

absl::StatusOr<int64_t> InsertVersion(Connection& connection, const OwnedModel& model,
                                      const std::string& job_id, const NewVersion& version,
                                      absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const NextVersion next, TakeNextVersion(connection, model, now));
  MERCER_ASSIGN_OR_RETURN(
      Statement insert,
      connection.Prepare(
          "INSERT INTO versions(model, version, job_id, learner, model_blob, model_bytes, "
          "witness_blob, "
          "witness_bytes, summary, create_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(next.model).Bind(next.version).Bind(job_id).Bind(version.learner);
  insert.Bind(version.model_blob)
      .Bind(version.model_bytes)
      .Bind(version.witness_blob)
      .Bind(version.witness_bytes);
  MERCER_RETURN_IF_ERROR(insert.BindBlob(version.summary).BindTime(now).Run());
  MERCER_RETURN_IF_ERROR(
      InsertLabels(connection, LabelTable::kVersions, connection.last_row_id(), version.labels));
  return next.version;
}

absl::StatusOr<DeletedVersions> DeleteVersions(Connection& connection, const std::string& model,
                                               int64_t version, absl::Time now,
                                               const OwnerCheck& check) {
  int64_t number = 0;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(
            "SELECT number, owner FROM checked_models AS models "
            "WHERE name = ? AND EXISTS (SELECT 1 FROM versions WHERE model = models.number)"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Step());
    if (!found) {
      return ModelNotFound(model, version);
    }
    MERCER_RETURN_IF_ERROR(CheckOwner(check, select.Bytes(1)));
    number = select.Int64(0);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> aliases,
                          AliasesOf(connection, number, version));
  if (!aliases.empty()) {
    return VersionHasAlias(model, version, aliases);
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

absl::StatusOr<DeletedVersions> DeleteOldVersions(Connection& connection,
                                                  const std::string& model) {
  MERCER_ASSIGN_OR_RETURN(const RetentionCut cut,
                          FindCut(connection, model, std::nullopt, nullptr));
  if (cut.oldest_kept == 0) {
    return DeletedVersions();
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement remove,
      connection.Prepare(
          "DELETE FROM versions WHERE model = ?1 AND version < ?2 AND version NOT IN "
          "(SELECT version FROM aliases WHERE model = ?1) "
          "RETURNING version, model_blob, witness_blob"));
  remove.Bind(cut.model).Bind(cut.oldest_kept);
  return ReadDeleted(remove);
}

absl::StatusOr<DeletedVersions> ChangeRetention(Connection& connection,
                                                const RetentionChange& change) {
  MERCER_ASSIGN_OR_RETURN(const RetentionCut cut,
                          FindCut(connection, change.model, change.keep_newest,
                                  change.dry_run ? nullptr : change.check));
  if (change.dry_run) {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare("SELECT version, model_blob, witness_blob FROM versions WHERE model = "
                           "?1 AND version < ?2 AND version NOT IN "
                           "(SELECT version FROM aliases WHERE model = ?1)"));
    select.Bind(cut.model).Bind(cut.oldest_kept);
    return ReadDeleted(select);
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE models SET keep_newest = ?, update_time = ? WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(
      update.Bind(change.keep_newest).BindTime(change.now).Bind(cut.model).Run());
  return DeleteOldVersions(connection, change.model);
}

absl::Status ChangeModel(Connection& connection, const ModelUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(const NumberedModel found, FindModel(connection, update.model));
  const ModelRecord& model = found.record;
  MERCER_RETURN_IF_ERROR(CheckOwner(update.check, model.owner));
  MERCER_ASSIGN_OR_RETURN(
      const bool changes,
      Changes(update, {absl::StrCat("the model '", update.model, "'"), ModelEtag(model),
                       model.labels, model.display_name, model.description}));
  if (!changes) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(ReplaceLabels(connection, LabelTable::kModels, found.number,
                                       update.labels.value_or(model.labels)));
  MERCER_ASSIGN_OR_RETURN(Statement change,
                          connection.Prepare("UPDATE models SET display_name = ?, description = ?, "
                                             "revision = revision + 1, update_time = ? "
                                             "WHERE number = ?"));
  return change.Bind(update.display_name.value_or(model.display_name))
      .Bind(update.description.value_or(model.description))
      .BindTime(update.now)
      .Bind(found.number)
      .Run();
}

absl::Status ChangeVersion(Connection& connection, const VersionUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(const NumberedVersion found,
                          FindVersion(connection, update.model, update.version));
  const VersionRecord& version = found.record;
  MERCER_RETURN_IF_ERROR(CheckOwner(update.check, version.owner));
  MERCER_ASSIGN_OR_RETURN(
      const bool changes,
      Changes(update,
              {absl::StrCat("version ", update.version, " of the model '", update.model, "'"),
               VersionEtag(version), version.labels, "", version.description}));
  if (!changes) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(ReplaceLabels(connection, LabelTable::kVersions, found.number,
                                       update.labels.value_or(version.labels)));
  MERCER_ASSIGN_OR_RETURN(
      Statement change,
      connection.Prepare(
          "UPDATE versions SET description = ?, revision = revision + 1 WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(
      change.Bind(update.description.value_or(version.description)).Bind(found.number).Run());
  MERCER_ASSIGN_OR_RETURN(Statement touch,
                          connection.Prepare("UPDATE models SET update_time = ? WHERE name = ?"));
  return touch.BindTime(update.now).Bind(update.model).Run();
}

}  // namespace mercer::server
