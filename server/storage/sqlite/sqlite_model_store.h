// ModelStore in SQLite.
#pragma once

#include <optional>
#include <string>

#include "server/storage/model_store.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/write_queue.h"

namespace mercer::server {

class SqliteModelStore final : public ModelStore {
 public:
  // Both must outlive the store.
  SqliteModelStore(WriteQueue* writer, ReaderPool* readers) : writer_(writer), readers_(readers) {}

  void DeleteModel(std::string name, int64_t version, absl::Time now, OwnerCheck check,
                   Done<DeletedVersions> done) override;
  absl::StatusOr<ModelRecord> GetModel(const std::string& name) override;
  absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) override;
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page,
                                               const ListQuery& query) override;
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name, const PageRequest& page,
                                                   const VersionFilter& filter) override;
  void UpdateModel(ModelUpdate update, Done<ModelRecord> done) override;
  void UpdateVersion(VersionUpdate update, Done<VersionRecord> done) override;
  void SetRetention(RetentionChange change, Done<DeletedVersions> done) override;
  void MoveAlias(AliasMove move, Done<AliasRecord> done) override;
  absl::StatusOr<std::optional<AliasRecord>> FindMove(const std::string& caller,
                                                      const std::string& request_id,
                                                      const std::string& request_digest) override;
  absl::StatusOr<AliasRecord> GetAlias(const std::string& model, const std::string& alias) override;
  absl::StatusOr<AliasRecord> GetAliasAt(const std::string& model, const std::string& alias,
                                         absl::Time time) override;
  absl::StatusOr<Page<AliasRecord>> ListAliases(const std::string& model,
                                                const PageRequest& page) override;
  absl::StatusOr<Page<AliasChange>> ListAliasChanges(const std::string& model,
                                                     const std::string& alias,
                                                     const PageRequest& page) override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
};

}  // namespace mercer::server
