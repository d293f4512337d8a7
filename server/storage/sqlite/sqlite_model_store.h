// ModelStore in SQLite.
#pragma once

#include <string>

#include "server/storage/model_store.h"
#include "server/storage/sqlite/reader_pool.h"
#include "server/storage/sqlite/write_queue.h"

namespace mercer::server {

class SqliteModelStore final : public ModelStore {
 public:
  // Both must outlive the store.
  SqliteModelStore(WriteQueue* writer, ReaderPool* readers) : writer_(writer), readers_(readers) {}

  void DeleteModel(std::string name, int64_t version, absl::Time now,
                   Done<DeletedVersions> done) override;
  absl::StatusOr<ModelRecord> GetModel(const std::string& name) override;
  absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) override;
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page) override;
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name,
                                                   const PageRequest& page) override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
};

}  // namespace mercer::server
