// DatasetStore in SQLite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/storage/dataset_store.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/write_queue.h"

namespace mercer::server {

// A change of the writer's connection. Errors: kAlreadyExists.
absl::StatusOr<DatasetRecord> InsertDataset(Connection& connection, const DatasetRecord& dataset);

class SqliteDatasetStore final : public DatasetStore {
 public:
  // Both must outlive the store.
  SqliteDatasetStore(WriteQueue* writer, ReaderPool* readers)
      : writer_(writer), readers_(readers) {}

  void CreateDataset(DatasetRecord dataset, Done<DatasetRecord> done) override;
  void UpdateDataset(std::string id, Labels labels, OwnerCheck check,
                     Done<DatasetRecord> done) override;
  void DeleteDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override;
  void HideDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override;
  absl::StatusOr<std::vector<std::string>> UnusedHiddenDatasets() override;
  void DeleteHiddenDataset(std::string id, Done<DatasetRecord> done) override;
  absl::StatusOr<DatasetRecord> GetDataset(const std::string& id) override;
  absl::StatusOr<std::optional<DatasetRecord>> FindByKey(const std::string& key) override;
  absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page,
                                                   const ListQuery& query) override;
  absl::StatusOr<int64_t> StoredBytes(const BlobDigest& except) override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
};

}  // namespace mercer::server
