#include "server/storage/sqlite/sqlite_model_store.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"
#include "server/storage/sqlite/version_changes.h"

namespace mercer::server {
namespace {

constexpr std::string_view kModelsQuery = "models";

// Models that have a version; the last two columns come from one look at the versions' index.
constexpr char kSelectModel[] =
    "SELECT models.number, name, description, create_time, update_time, "
    "(SELECT MAX(version) FROM versions WHERE model = models.number) AS newest, "
    "(SELECT COUNT(*) FROM versions WHERE model = models.number) FROM models ";

constexpr char kSelectVersion[] =
    "SELECT versions.number, name, version, job_id, learner, model_blob, model_bytes, "
    "witness_blob, witness_bytes, summary, "
    "versions.create_time FROM versions JOIN models ON models.number = versions.model ";

absl::StatusOr<ModelRecord> ReadModelRow(Connection& connection, const Statement& row) {
  ModelRecord model;
  model.name = row.Bytes(1);
  model.description = row.Bytes(2);
  model.create_time = row.Time(3);
  model.update_time = row.Time(4);
  model.newest_version = row.Int64(5);
  model.num_versions = row.Int64(6);
  MERCER_ASSIGN_OR_RETURN(model.labels, ReadLabels(connection, LabelTable::kModels, row.Int64(0)));
  return model;
}

absl::StatusOr<VersionRecord> ReadVersionRow(Connection& connection, const Statement& row) {
  VersionRecord version;
  version.model = row.Bytes(1);
  version.version = row.Int64(2);
  version.job_id = row.Bytes(3);
  version.learner = row.Bytes(4);
  version.model_blob = row.Bytes(5);
  version.model_bytes = row.Int64(6);
  version.witness_blob = row.Bytes(7);
  version.witness_bytes = row.Int64(8);
  version.summary = row.Bytes(9);
  version.create_time = row.Time(10);
  MERCER_ASSIGN_OR_RETURN(version.labels,
                          ReadLabels(connection, LabelTable::kVersions, row.Int64(0)));
  return version;
}

}  // namespace

void SqliteModelStore::DeleteModel(std::string name, int64_t version, absl::Time now,
                                   Done<DeletedVersions> done) {
  SubmitChange<DeletedVersions>(
      *writer_,
      [name = std::move(name), version, now](Connection& connection) {
        return DeleteVersions(connection, name, version, now);
      },
      std::move(done));
}

absl::StatusOr<ModelRecord> SqliteModelStore::GetModel(const std::string& name) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(kSelectModel, "WHERE name = ? AND newest IS NOT NULL")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(name).Step());
  if (!found) {
    return ModelNotFound(name, 0);
  }
  return ReadModelRow(*reader, select);
}

absl::StatusOr<VersionRecord> SqliteModelStore::GetVersion(const std::string& name,
                                                           int64_t version) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(
          kSelectVersion,
          "WHERE name = ?1 AND (?2 = 0 OR version = ?2) ORDER BY version DESC LIMIT 1")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(name).Bind(version).Step());
  if (!found) {
    return ModelNotFound(name, version);
  }
  return ReadVersionRow(*reader, select);
}

absl::StatusOr<Page<ModelRecord>> SqliteModelStore::ListModels(const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  std::string after;
  if (!page.token.empty()) {
    MERCER_ASSIGN_OR_RETURN(after, ReadPageToken(kModelsQuery, page.token));
  }
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(
          kSelectModel, "WHERE name > ? AND newest IS NOT NULL ORDER BY name LIMIT ?")));
  select.Bind(after).Bind(size + 1);
  Page<ModelRecord> result;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return result;
    }
    if (static_cast<int>(result.items.size()) == size) {
      result.next_token = MakePageToken(kModelsQuery, result.items.back().name);
      return result;
    }
    MERCER_ASSIGN_OR_RETURN(ModelRecord model, ReadModelRow(*reader, select));
    result.items.push_back(std::move(model));
  }
}

absl::StatusOr<Page<VersionRecord>> SqliteModelStore::ListVersions(const std::string& name,
                                                                   const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("versions|", name);
  MERCER_ASSIGN_OR_RETURN(const int64_t before,
                          ReadPageToken(query, page.token, std::numeric_limits<int64_t>::max()));
  MERCER_RETURN_IF_ERROR(GetModel(name).status());
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(
          kSelectVersion, "WHERE name = ? AND version < ? ORDER BY version DESC LIMIT ?")));
  select.Bind(name).Bind(before).Bind(size + 1);
  Page<VersionRecord> result;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return result;
    }
    if (static_cast<int>(result.items.size()) == size) {
      result.next_token = MakePageToken(query, result.items.back().version);
      return result;
    }
    MERCER_ASSIGN_OR_RETURN(VersionRecord version, ReadVersionRow(*reader, select));
    result.items.push_back(std::move(version));
  }
}

}  // namespace mercer::server
