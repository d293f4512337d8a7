#include "server/storage/sqlite/dataset_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/lists.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

// How filters find the fields of a row of `datasets`.
constexpr FieldSql kDatasetFields[] = {
    {"name", FieldSql::Kind::kText, "datasets.id"},
    {"display_name", FieldSql::Kind::kText, "datasets.display_name"},
    {"rows", FieldSql::Kind::kNumber, "datasets.row_count"},
    {"size_bytes", FieldSql::Kind::kNumber, "datasets.size_bytes"},
    {"owner", FieldSql::Kind::kText, "datasets.owner"},
    {"create_time", FieldSql::Kind::kNumber, "datasets.create_time"},
    {"labels", FieldSql::Kind::kLabels, "dataset_labels AS l WHERE l.owner = datasets.number"},
};

// That of the row that `where` names.
template <typename Key>
absl::StatusOr<std::optional<DatasetRecord>> FindDataset(Connection& connection,
                                                         std::string_view where, const Key& key) {
  const auto read = [&](const Statement& row) -> absl::StatusOr<DatasetRecord> {
    DatasetRecord dataset;
    row.Read(dataset.number, dataset.id, dataset.display_name, dataset.blob, dataset.size_bytes,
             dataset.rows, dataset.info, dataset.create_time, dataset.hidden, dataset.owner,
             dataset.request_key, dataset.upload_key, dataset.revision);
    MERCER_ASSIGN_OR_RETURN(dataset.labels, ReadLabels(connection, kDatasetLabels, dataset.number));
    return dataset;
  };
  return connection.SelectFirst(
      read,
      absl::StrCat("SELECT number, id, display_name, blob, size_bytes, row_count, info, "
                   "create_time, hidden, owner, request_key, upload_key, revision FROM "
                   "checked_datasets AS datasets WHERE ",
                   std::string(where)),
      key);
}

}  // namespace

absl::StatusOr<DatasetRecord> ReadDataset(Connection& connection, const std::string& id) {
  return FoundOr(FindDataset(connection, "id = ?", id), [&] { return DatasetNotFound(id); });
}

absl::StatusOr<DatasetRecord> InsertDataset(Connection& connection, const DatasetRecord& dataset,
                                            int64_t max_stored_bytes) {
  for (const std::string& key : {dataset.request_key, dataset.upload_key}) {
    if (!key.empty()) {
      MERCER_ASSIGN_OR_RETURN(const std::optional<DatasetRecord> earlier,
                              FindDatasetByKey(connection, key));
      if (earlier.has_value()) {
        return UploadKnown(earlier->id);
      }
    }
  }
  if (max_stored_bytes > 0) {
    MERCER_ASSIGN_OR_RETURN(const int64_t stored, CountStoredBytes(connection, dataset.blob));
    MERCER_RETURN_IF_ERROR(CheckStoredBytes(dataset.size_bytes, stored, max_stored_bytes));
  }
  MERCER_ASSIGN_OR_RETURN(
      const int64_t inserted,
      connection.Change(
          "INSERT INTO datasets(id, display_name, blob, size_bytes, row_count, info, create_time, "
          "owner, request_key, upload_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(id) DO NOTHING",
          dataset.id, dataset.display_name, dataset.blob, dataset.size_bytes, dataset.rows,
          Blob{dataset.info}, dataset.create_time, dataset.owner, TextOrNull{dataset.request_key},
          TextOrNull{dataset.upload_key}));
  if (inserted == 0) {
    return DatasetExists(dataset.id);
  }
  MERCER_RETURN_IF_ERROR(
      InsertLabels(connection, kDatasetLabels, connection.last_row_id(), dataset.labels));
  return dataset;
}

absl::StatusOr<DatasetRecord> ChangeDataset(Connection& connection, const DatasetUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(DatasetRecord dataset, ReadDataset(connection, update.id));
  if (dataset.hidden) {
    return DatasetNotFound(update.id);
  }
  MERCER_ASSIGN_OR_RETURN(
      const bool changed,
      ApplyUpdate(
          connection, update,
          {absl::StrCat("the data set '", update.id, "'"), DatasetEtag(dataset), "datasets",
           kDatasetLabels, dataset.number, dataset.owner, dataset.labels, &dataset.display_name}));
  return changed ? ReadDataset(connection, update.id) : std::move(dataset);
}

absl::StatusOr<DatasetRecord> RemoveDataset(Connection& connection, const std::string& id,
                                            const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(DatasetRecord dataset, ReadDataset(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, dataset.owner));
  // States 1 to 4 are those that are not final. CROSS JOIN: by the jobs of this data set, not by all that have not ended. The
  // newest first: those that have not ended are among them.
  MERCER_ASSIGN_OR_RETURN(
      const std::optional<std::string> user,
      connection.SelectFirst<std::string>(
          "SELECT jobs.id FROM job_datasets CROSS JOIN jobs ON jobs.number = job WHERE dataset_id "
          "= ? AND state IN (1, 2, 3, 4) ORDER BY job DESC LIMIT 1",
          id));
  if (user.has_value()) {
    return DatasetInUse(id, *user);
  }
  MERCER_RETURN_IF_ERROR(connection.Run("DELETE FROM datasets WHERE number = ?", dataset.number));
  return dataset;
}

absl::StatusOr<DatasetRecord> RemoveHiddenDataset(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(const DatasetRecord dataset, ReadDataset(connection, id));
  return dataset.hidden ? RemoveDataset(connection, id, nullptr) : DatasetNotFound(id);
}

absl::StatusOr<DatasetRecord> MarkHidden(Connection& connection, const std::string& id,
                                         const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(DatasetRecord dataset, ReadDataset(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, dataset.owner));
  MERCER_RETURN_IF_ERROR(
      connection.Run("UPDATE datasets SET hidden = 1 WHERE number = ?", dataset.number));
  dataset.hidden = true;
  return dataset;
}

absl::StatusOr<std::vector<std::string>> FindUnusedHiddenDatasets(Connection& connection) {
  return connection.SelectAll<std::string>(
      "SELECT id FROM datasets WHERE hidden = 1 AND NOT EXISTS (SELECT 1 FROM job_datasets CROSS "
      "JOIN jobs ON jobs.number = job WHERE dataset_id = datasets.id AND state IN (1, 2, 3, 4) "
      "ORDER BY job DESC) ORDER BY number");
}

absl::StatusOr<std::optional<DatasetRecord>> FindDatasetByKey(Connection& connection,
                                                              const std::string& key) {
  MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> dataset,
                          FindDataset(connection, "request_key = ? AND hidden = 0", key));
  return dataset.has_value() ? std::move(dataset)
                             : FindDataset(connection, "upload_key = ? AND hidden = 0", key);
}

absl::StatusOr<Page<DatasetRecord>> ReadDatasetPage(Connection& connection, const PageRequest& page,
                                                    const ListQuery& query) {
  ListWalk walk{"number", {"datasets.number"}};
  if (query.order.key == ListOrder::Key::kName) {
    walk.key = {"datasets.id", "", /*is_name=*/true};
  } else if (query.order.key == ListOrder::Key::kSizeBytes) {
    walk.key = {"datasets.size_bytes", "datasets.number"};
  } else if (query.order.key == ListOrder::Key::kRows) {
    walk.key = {"datasets.row_count", "datasets.number"};
  }
  walk.descending = query.order.key == ListOrder::Key::kDefault || query.order.descending;
  walk.shown = "hidden = 0";
  walk.parts = {{"datasets WHERE ", {}}};
  const auto find = [&](std::string_view after, int limit) {
    return FindRows(connection, walk, WholeFilter(query), kDatasetFields, after, limit,
                    query.rows_at_once);
  };
  const auto read = [&](int64_t number) { return FindDataset(connection, "number = ?", number); };
  return ReadPage<DatasetRecord>(page, absl::StrCat("datasets", DescribeListQuery(query)), find,
                                 read);
}

absl::StatusOr<int64_t> CountStoredBytes(Connection& connection, const BlobDigest& except) {
  return connection.SelectValue<int64_t>(
      "SELECT COALESCE(SUM(size_bytes), 0) FROM (SELECT DISTINCT blob, size_bytes FROM datasets "
      "WHERE blob <> ?)",
      except);
}

}  // namespace mercer::server
