#include "server/storage/sqlite/sqlite_dataset_store.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/filter_sql.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

constexpr std::string_view kQuery = "datasets";

// How filters find the fields of a row of `datasets`.
constexpr FieldSql kDatasetFields[] = {
    {"name", FieldSql::Values::kText, "datasets.id"},
    {"display_name", FieldSql::Values::kText, "datasets.display_name"},
    {"rows", FieldSql::Values::kNumber, "datasets.row_count"},
    {"size_bytes", FieldSql::Values::kNumber, "datasets.size_bytes"},
    {"owner", FieldSql::Values::kText, "datasets.owner"},
    {"create_time", FieldSql::Values::kNumber, "datasets.create_time"},
    {"labels", FieldSql::Values::kKeyAndText, "",
     "EXISTS (SELECT 1 FROM dataset_labels AS l WHERE l.owner = datasets.number AND l.key = ? AND "
     "l.value = ?)",
     "EXISTS (SELECT 1 FROM dataset_labels AS l WHERE l.owner = datasets.number AND l.key = ?)"},
};

// Those that are not hidden; a key is the number, or the id when the order is that of names.
absl::StatusOr<FoundRows> FindDatasets(Connection& connection, const ListQuery& query,
                                       std::string_view after, int limit) {
  const bool by_name = query.order.key == ListOrder::Key::kName;
  const bool descending = query.order.key == ListOrder::Key::kDefault || query.order.descending;
  FilterCondition condition{"1", {}};
  if (query.filter.has_value()) {
    MERCER_ASSIGN_OR_RETURN(condition, TranslateFilter(*query.filter, kDatasetFields));
  }
  MERCER_ASSIGN_OR_RETURN(const FilterParameter start, by_name ? StartByName(after, descending)
                                                               : StartByNumber(after, descending));
  const std::string key = by_name ? "datasets.id" : "datasets.number";
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.PrepareOnce(absl::StrCat(
          "SELECT number, ", key, ", hidden = 0 AND ", condition.sql, " FROM datasets WHERE ", key,
          descending ? " < ? ORDER BY 2 DESC" : " > ? ORDER BY 2")));
  BindParameters(condition.parameters, select);
  BindParameters({start}, select);
  return FindRows(select, limit, query.rows_at_once);
}

struct NumberedDataset {
  int64_t number = 0;
  DatasetRecord record;
};

// The columns that ReadRow expects.
constexpr char kSelectDataset[] =
    "SELECT number, id, display_name, blob, size_bytes, row_count, info, create_time, hidden, "
    "owner, request_key, upload_key "
    "FROM checked_datasets AS datasets ";

absl::StatusOr<NumberedDataset> ReadRow(Connection& connection, const Statement& row) {
  NumberedDataset dataset;
  dataset.number = row.Int64(0);
  dataset.record.id = row.Bytes(1);
  dataset.record.display_name = row.Bytes(2);
  dataset.record.blob = row.Bytes(3);
  dataset.record.size_bytes = row.Int64(4);
  dataset.record.rows = row.Int64(5);
  dataset.record.info = row.Bytes(6);
  dataset.record.create_time = row.Time(7);
  dataset.record.hidden = row.Int64(8) != 0;
  dataset.record.owner = row.Bytes(9);
  dataset.record.request_key = row.Bytes(10);
  dataset.record.upload_key = row.Bytes(11);
  MERCER_ASSIGN_OR_RETURN(dataset.record.labels,
                          ReadLabels(connection, LabelTable::kDatasets, dataset.number));
  return dataset;
}

absl::StatusOr<NumberedDataset> ReadDataset(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(absl::StrCat(kSelectDataset, "WHERE id = ?")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(id).Step());
  if (!found) {
    return DatasetNotFound(id);
  }
  return ReadRow(connection, select);
}

absl::StatusOr<std::optional<DatasetRecord>> FindKey(Connection& connection,
                                                     const std::string& key) {
  for (const char* column : {"request_key", "upload_key"}) {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(absl::StrCat(kSelectDataset, "WHERE ", column, " = ? AND hidden = 0")));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(key).Step());
    if (found) {
      MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadRow(connection, select));
      return std::move(dataset.record);
    }
  }
  return std::nullopt;
}

void BindKey(const std::string& key, Statement& statement) {
  if (key.empty()) {
    statement.BindNull();
  } else {
    statement.Bind(key);
  }
}

absl::StatusOr<DatasetRecord> ChangeLabels(Connection& connection, const std::string& id,
                                           const Labels& labels, const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadDataset(connection, id));
  if (dataset.record.hidden) {
    return DatasetNotFound(id);
  }
  MERCER_RETURN_IF_ERROR(CheckOwner(check, dataset.record.owner));
  MERCER_RETURN_IF_ERROR(ReplaceLabels(connection, LabelTable::kDatasets, dataset.number, labels));
  dataset.record.labels = labels;
  return std::move(dataset.record);
}

absl::StatusOr<DatasetRecord> Delete(Connection& connection, const std::string& id,
                                     const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadDataset(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, dataset.record.owner));
  // States 1 to 4 are those that are not final.
  MERCER_ASSIGN_OR_RETURN(
      Statement user,
      // CROSS JOIN: by the jobs of this data set, not by all that have not ended.
      connection.Prepare(
          "SELECT jobs.id FROM job_datasets CROSS JOIN jobs ON jobs.number = job "
          // The newest first: those that have not ended are among them.
          "WHERE dataset_id = ? AND state IN (1, 2, 3, 4) ORDER BY job DESC LIMIT 1"));
  MERCER_ASSIGN_OR_RETURN(const bool in_use, user.Bind(id).Step());
  if (in_use) {
    return DatasetInUse(id, user.Bytes(0));
  }
  MERCER_ASSIGN_OR_RETURN(Statement remove,
                          connection.Prepare("DELETE FROM datasets WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(remove.Bind(dataset.number).Run());
  return std::move(dataset.record);
}

absl::StatusOr<DatasetRecord> DeleteHidden(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(const NumberedDataset dataset, ReadDataset(connection, id));
  return dataset.record.hidden ? Delete(connection, id, nullptr) : DatasetNotFound(id);
}

absl::StatusOr<DatasetRecord> Hide(Connection& connection, const std::string& id,
                                   const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadDataset(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, dataset.record.owner));
  MERCER_ASSIGN_OR_RETURN(Statement update,
                          connection.Prepare("UPDATE datasets SET hidden = 1 WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(update.Bind(dataset.number).Run());
  dataset.record.hidden = true;
  return std::move(dataset.record);
}

}  // namespace

absl::StatusOr<DatasetRecord> InsertDataset(Connection& connection, const DatasetRecord& dataset) {
  for (const std::string& key : {dataset.request_key, dataset.upload_key}) {
    if (!key.empty()) {
      MERCER_ASSIGN_OR_RETURN(const std::optional<DatasetRecord> earlier, FindKey(connection, key));
      if (earlier.has_value()) {
        return UploadKnown(earlier->id);
      }
    }
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement insert,
      connection.Prepare(
          "INSERT INTO datasets(id, display_name, blob, size_bytes, row_count, info, create_time, "
          "owner, request_key, upload_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(id) DO NOTHING"));
  insert.Bind(dataset.id)
      .Bind(dataset.display_name)
      .Bind(dataset.blob)
      .Bind(dataset.size_bytes)
      .Bind(dataset.rows);
  insert.BindBlob(dataset.info).BindTime(dataset.create_time).Bind(dataset.owner);
  BindKey(dataset.request_key, insert);
  BindKey(dataset.upload_key, insert);
  MERCER_RETURN_IF_ERROR(insert.Run());
  if (connection.changes() == 0) {
    return DatasetExists(dataset.id);
  }
  MERCER_RETURN_IF_ERROR(
      InsertLabels(connection, LabelTable::kDatasets, connection.last_row_id(), dataset.labels));
  return dataset;
}

void SqliteDatasetStore::CreateDataset(DatasetRecord dataset, Done<DatasetRecord> done) {
  SubmitChange<DatasetRecord>(
      *writer_,
      [dataset = std::move(dataset)](Connection& connection) {
        return InsertDataset(connection, dataset);
      },
      std::move(done));
}

void SqliteDatasetStore::UpdateDataset(std::string id, Labels labels, OwnerCheck check,
                                       Done<DatasetRecord> done) {
  SubmitChange<DatasetRecord>(
      *writer_,
      [id = std::move(id), labels = std::move(labels), check = std::move(check)](
          Connection& connection) { return ChangeLabels(connection, id, labels, check); },
      std::move(done));
}

void SqliteDatasetStore::DeleteDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) {
  SubmitChange<DatasetRecord>(
      *writer_,
      [id = std::move(id), check = std::move(check)](Connection& connection) {
        return Delete(connection, id, check);
      },
      std::move(done));
}

void SqliteDatasetStore::HideDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) {
  SubmitChange<DatasetRecord>(
      *writer_,
      [id = std::move(id), check = std::move(check)](Connection& connection) {
        return Hide(connection, id, check);
      },
      std::move(done));
}

void SqliteDatasetStore::DeleteHiddenDataset(std::string id, Done<DatasetRecord> done) {
  SubmitChange<DatasetRecord>(
      *writer_,
      [id = std::move(id)](Connection& connection) { return DeleteHidden(connection, id); },
      std::move(done));
}

absl::StatusOr<std::optional<DatasetRecord>> SqliteDatasetStore::FindByKey(const std::string& key) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return FindKey(*reader, key);
}

absl::StatusOr<std::vector<std::string>> SqliteDatasetStore::UnusedHiddenDatasets() {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(
          "SELECT id FROM datasets WHERE hidden = 1 AND NOT EXISTS (SELECT 1 FROM "
          "job_datasets CROSS JOIN jobs ON jobs.number = job WHERE dataset_id = "
          "datasets.id AND state IN (1, 2, 3, 4) ORDER BY job DESC) ORDER BY number"));
  std::vector<std::string> ids;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return ids;
    }
    ids.push_back(select.Bytes(0));
  }
}

absl::StatusOr<DatasetRecord> SqliteDatasetStore::GetDataset(const std::string& id) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadDataset(*reader, id));
  return std::move(dataset.record);
}

absl::StatusOr<Page<DatasetRecord>> SqliteDatasetStore::ListDatasets(const PageRequest& page,
                                                                     const ListQuery& query) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string described = absl::StrCat(std::string(kQuery), DescribeListQuery(query));
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadListToken(described, page.token));
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(const FoundRows found, FindDatasets(*reader, query, after, size));
  Page<DatasetRecord> result;
  if (!found.next.empty()) {
    result.next_token = MakePageToken(described, found.next);
  }
  for (const int64_t number : found.numbers) {
    MERCER_ASSIGN_OR_RETURN(Statement select,
                            (*reader).Prepare(absl::StrCat(kSelectDataset, "WHERE number = ?")));
    MERCER_ASSIGN_OR_RETURN(const bool there, select.Bind(number).Step());
    if (there) {  // not deleted since
      MERCER_ASSIGN_OR_RETURN(NumberedDataset dataset, ReadRow(*reader, select));
      result.items.push_back(std::move(dataset.record));
    }
  }
  return result;
}

absl::StatusOr<int64_t> SqliteDatasetStore::StoredBytes(const BlobDigest& except) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare("SELECT COALESCE(SUM(size_bytes), 0) FROM "
                        "(SELECT DISTINCT blob, size_bytes FROM datasets WHERE blob <> ?)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(except).Step());
  return found ? select.Int64(0) : 0;
}

}  // namespace mercer::server
