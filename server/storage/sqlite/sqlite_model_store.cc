#include "server/storage/sqlite/sqlite_model_store.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/alias_changes.h"
#include "server/storage/sqlite/tables.h"
#include "server/storage/sqlite/version_changes.h"
#include "server/storage/sqlite/version_rows.h"

namespace mercer::server {
namespace {

// Models that have a version; the last two columns come from one look at the versions' index.
constexpr char kSelectModel[] =
    "SELECT models.number, name, description, create_time, update_time, "
    "(SELECT MAX(version) FROM versions WHERE model = models.number) AS newest, "
    "(SELECT COUNT(*) FROM versions WHERE model = models.number), keep_newest, owner FROM "
    "checked_models "
    "AS "
    "models ";

// Conditions on a row of `versions`, to be followed by the values of BindFilter.
std::string FilterSql(const VersionFilter& filter) {
  std::string sql = filter.learner.empty() ? "" : " AND versions.learner = ?";
  for (size_t i = 0; i < filter.labels.size(); ++i) {
    absl::StrAppend(&sql,
                    " AND EXISTS (SELECT 1 FROM version_labels WHERE owner = versions.number AND "
                    "key = ? AND value = ?)");
  }
  return sql;
}

// The same for a row of `models`, about its newest version.
std::string NewestFilterSql(const VersionFilter& filter) {
  const std::string conditions = FilterSql(filter);
  return conditions.empty()
             ? ""
             : absl::StrCat(
                   " AND EXISTS (SELECT 1 FROM versions WHERE versions.model = "
                   "models.number AND version = (SELECT MAX(version) FROM versions AS "
                   "others WHERE others.model = models.number)",
                   conditions, ")");
}

void BindFilter(const VersionFilter& filter, Statement& statement) {
  if (!filter.learner.empty()) {
    statement.Bind(filter.learner);
  }
  for (const auto& [key, value] : filter.labels) {
    statement.Bind(key).Bind(value);
  }
}

absl::StatusOr<ModelRecord> ReadModelRow(Connection& connection, const Statement& row) {
  ModelRecord model;
  model.name = row.Bytes(1);
  model.description = row.Bytes(2);
  model.create_time = row.Time(3);
  model.update_time = row.Time(4);
  model.newest_version = row.Int64(5);
  model.num_versions = row.Int64(6);
  model.keep_newest = row.Int64(7);
  model.owner = row.Bytes(8);
  MERCER_ASSIGN_OR_RETURN(model.labels, ReadLabels(connection, LabelTable::kModels, row.Int64(0)));
  return model;
}

}  // namespace

void SqliteModelStore::DeleteModel(std::string name, int64_t version, absl::Time now,
                                   OwnerCheck check, Done<DeletedVersions> done) {
  SubmitChange<DeletedVersions>(
      *writer_,
      [name = std::move(name), version, now, check = std::move(check)](Connection& connection) {
        return DeleteVersions(connection, name, version, now, check);
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
  MERCER_ASSIGN_OR_RETURN(NumberedVersion found, FindVersion(*reader, name, version));
  return std::move(found.record);
}

absl::StatusOr<Page<ModelRecord>> SqliteModelStore::ListModels(const PageRequest& page,
                                                               const VersionFilter& filter) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeVersionsQuery("models", filter);
  std::string after;
  if (!page.token.empty()) {
    MERCER_ASSIGN_OR_RETURN(after, ReadPageToken(query, page.token));
  }
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(kSelectModel, "WHERE name > ? AND newest IS NOT NULL",
                                     NewestFilterSql(filter), " ORDER BY name LIMIT ?")));
  select.Bind(after);
  BindFilter(filter, select);
  select.Bind(size + 1);
  Page<ModelRecord> result;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return result;
    }
    if (static_cast<int>(result.items.size()) == size) {
      result.next_token = MakePageToken(query, result.items.back().name);
      return result;
    }
    MERCER_ASSIGN_OR_RETURN(ModelRecord model, ReadModelRow(*reader, select));
    result.items.push_back(std::move(model));
  }
}

absl::StatusOr<Page<VersionRecord>> SqliteModelStore::ListVersions(const std::string& name,
                                                                   const PageRequest& page,
                                                                   const VersionFilter& filter) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeVersionsQuery(absl::StrCat("versions|", name), filter);
  MERCER_ASSIGN_OR_RETURN(const int64_t before,
                          ReadPageToken(query, page.token, std::numeric_limits<int64_t>::max()));
  MERCER_RETURN_IF_ERROR(GetModel(name).status());
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(absl::StrCat(kSelectVersion, "WHERE name = ? AND version < ?",
                                     FilterSql(filter), " ORDER BY version DESC LIMIT ?")));
  select.Bind(name).Bind(before);
  BindFilter(filter, select);
  select.Bind(size + 1);
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

void SqliteModelStore::UpdateVersion(VersionUpdate update, Done<VersionRecord> done) {
  SubmitChange<VersionRecord>(
      *writer_,
      [update = std::move(update)](Connection& connection) -> absl::StatusOr<VersionRecord> {
        MERCER_RETURN_IF_ERROR(ChangeVersion(connection, update));
        MERCER_ASSIGN_OR_RETURN(NumberedVersion changed,
                                FindVersion(connection, update.model, update.version));
        return std::move(changed.record);
      },
      std::move(done));
}

void SqliteModelStore::SetRetention(RetentionChange change, Done<DeletedVersions> done) {
  SubmitChange<DeletedVersions>(
      *writer_,
      [change = std::move(change)](Connection& connection) {
        return ChangeRetention(connection, change);
      },
      std::move(done));
}

void SqliteModelStore::MoveAlias(AliasMove move, Done<AliasRecord> done) {
  SubmitChange<AliasRecord>(
      *writer_,
      [move = std::move(move)](Connection& connection) { return ApplyMove(connection, move); },
      std::move(done));
}

absl::StatusOr<std::optional<AliasRecord>> SqliteModelStore::FindMove(
    const std::string& caller, const std::string& request_id, const std::string& request_digest) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return FindAliasMove(*reader, caller, request_id, request_digest);
}

absl::StatusOr<AliasRecord> SqliteModelStore::GetAlias(const std::string& model,
                                                       const std::string& alias) {
  return GetAliasAt(model, alias, absl::InfiniteFuture());
}

absl::StatusOr<AliasRecord> SqliteModelStore::GetAliasAt(const std::string& model,
                                                         const std::string& alias,
                                                         absl::Time time) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return ReadAliasAt(*reader, model, alias, time);
}

absl::StatusOr<Page<AliasRecord>> SqliteModelStore::ListAliases(const std::string& model,
                                                                const PageRequest& page) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return ReadAliasPage(*reader, model, page);
}

absl::StatusOr<Page<AliasChange>> SqliteModelStore::ListAliasChanges(const std::string& model,
                                                                     const std::string& alias,
                                                                     const PageRequest& page) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return ReadChangePage(*reader, model, alias, page);
}

}  // namespace mercer::server
