// DatasetStore in SQLite.
#pragma once

#include <string>

#include "server/storage/dataset_store.h"
#include "server/storage/sqlite/reader_pool.h"
#include "server/storage/sqlite/write_queue.h"

namespace mercer::server {

class SqliteDatasetStore final : public DatasetStore {
 public:
  // Both must outlive the store.
  SqliteDatasetStore(WriteQueue* writer, ReaderPool* readers)
      : writer_(writer), readers_(readers) {}

  void CreateDataset(DatasetRecord dataset, Done<DatasetRecord> done) override;
  void DeleteDataset(std::string id, Done<DatasetRecord> done) override;
  absl::StatusOr<DatasetRecord> GetDataset(const std::string& id) override;
  absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page) override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
};

}  // namespace mercer::server
