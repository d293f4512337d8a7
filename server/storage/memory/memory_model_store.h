// ModelStore in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/storage/memory/memory_state.h"
#include "server/storage/model_store.h"

namespace mercer::server {

class MemoryModelStore final : public ModelStore {
 public:
  explicit MemoryModelStore(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}

  void DeleteModel(std::string name, int64_t version, absl::Time now, OwnerCheck check,
                   Done<DeletedVersions> done) override;
  absl::StatusOr<ModelRecord> GetModel(const std::string& name) override;
  absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) override;
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page,
                                               const VersionFilter& filter) override;
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name, const PageRequest& page,
                                                   const VersionFilter& filter) override;
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
  absl::StatusOr<DeletedVersions> Delete(const std::string& name, int64_t version, absl::Time now,
                                         const OwnerCheck& check);
  absl::StatusOr<VersionRecord> Update(const VersionUpdate& update);
  absl::StatusOr<DeletedVersions> Retain(const RetentionChange& change);
  absl::StatusOr<AliasRecord> Move(const AliasMove& move);
  absl::StatusOr<std::optional<AliasRecord>> FindEarlier(const std::string& caller,
                                                         const std::string& request_id,
                                                         const std::string& request_digest) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Null when there is none, or none with a version.
  MemoryModel* Find(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);

  const std::shared_ptr<MemoryState> state_;
};

}  // namespace mercer::server
