#include "server/storage/sqlite/sqlite_model_store.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/alias_changes.h"
#include "server/storage/sqlite/version_changes.h"
#include "server/storage/sqlite/version_list.h"
#include "server/storage/sqlite/version_rows.h"

namespace mercer::server {
namespace {

// The rows that were found, but those that were deleted since.
template <typename Record>
absl::StatusOr<Page<Record>> ReadPage(
    Connection& connection, const FoundRows& found, const std::string& query, const char* select,
    const char* where, absl::StatusOr<Record> (*read)(Connection&, const Statement&)) {
  Page<Record> page;
  if (!found.next.empty()) {
    page.next_token = MakePageToken(query, found.next);
  }
  for (const int64_t number : found.numbers) {
    MERCER_ASSIGN_OR_RETURN(Statement row, connection.Prepare(absl::StrCat(select, where)));
    MERCER_ASSIGN_OR_RETURN(const bool there, row.Bind(number).Step());
    if (there) {
      MERCER_ASSIGN_OR_RETURN(Record record, read(connection, row));
      page.items.push_back(std::move(record));
    }
  }
  return page;
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
  MERCER_ASSIGN_OR_RETURN(NumberedModel found, FindModel(*reader, name));
  return std::move(found.record);
}

absl::StatusOr<VersionRecord> SqliteModelStore::GetVersion(const std::string& name,
                                                           int64_t version) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(NumberedVersion found, FindVersion(*reader, name, version));
  return std::move(found.record);
}

absl::StatusOr<Page<ModelRecord>> SqliteModelStore::ListModels(const PageRequest& page,
                                                               const ListQuery& query) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string described = absl::StrCat("models", DescribeListQuery(query));
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadListToken(described, page.token));
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(const FoundRows found, FindModels(*reader, query, after, size));
  return ReadPage<ModelRecord>(*reader, found, described, kSelectModel,
                               "WHERE models.number = ? AND newest IS NOT NULL", &ReadModelRow);
}

absl::StatusOr<Page<VersionRecord>> SqliteModelStore::ListVersions(const std::string& name,
                                                                   const PageRequest& page,
                                                                   const VersionFilter& filter) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeVersionsQuery(name, filter);
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadListToken(query, page.token));
  if (!name.empty()) {
    MERCER_RETURN_IF_ERROR(GetModel(name).status());
  }
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(const FoundRows found, FindVersions(*reader, name, filter, after, size));
  return ReadPage<VersionRecord>(*reader, found, query, kSelectVersion, "WHERE versions.number = ?",
                                 &ReadVersionRow);
}

void SqliteModelStore::UpdateModel(ModelUpdate update, Done<ModelRecord> done) {
  SubmitChange<ModelRecord>(
      *writer_,
      [update = std::move(update)](Connection& connection) -> absl::StatusOr<ModelRecord> {
        MERCER_RETURN_IF_ERROR(ChangeModel(connection, update));
        MERCER_ASSIGN_OR_RETURN(NumberedModel changed, FindModel(connection, update.model));
        return std::move(changed.record);
      },
      std::move(done));
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
