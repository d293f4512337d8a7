// The registry of models: names, dense version numbers, labels, aliases with their history. Versions
// are made by JobStore::EndAttempt alone, which also deletes those that a model's keep_newest no longer
// keeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/completion.h"
#include "server/storage/list_filter.h"
#include "server/storage/owner_check.h"
#include "server/storage/records.h"
#include "server/storage/resource_update.h"

namespace mercer::server {

struct DeletedVersions {
  std::vector<int64_t> versions;
  std::vector<BlobDigest> released_blobs;  // others may name them
};

struct AliasMove {
  std::string model;
  std::string alias;
  int64_t version = 0;    // 0: the alias is removed
  bool rollback = false;  // `version` must be the one before the last change
  std::string etag;       // the alias must still have it; empty: any
  // May be empty; one that the caller repeats moves nothing. A call that found the alias there already is not remembered:
  // give an etag.
  std::string request_id;
  std::string request_digest;  // with request_id: of what was asked
  std::string caller;          // for the history
  absl::Time now;
  OwnerCheck check = nullptr;  // asked of the model's owner
};

struct ModelUpdate : ResourceUpdate {
  std::string model;
  absl::Time now;
};

// Of one version, whose owner is the model's.
struct VersionUpdate : ModelUpdate {
  int64_t version = 0;
};

struct RetentionChange {
  std::string model;
  int64_t keep_newest = 0;  // 0: keep all
  bool dry_run = false;     // changes nothing: tells what would be deleted
  absl::Time now;
  OwnerCheck check = nullptr;  // asked of the model's owner, unless it is a dry run
};

// What a version must have to be listed.
struct VersionFilter {
  std::string learner;  // empty: any
  Labels labels;        // all of them, with these values
  ListQuery query = {};
};

// Thread-safe; common errors as in DatasetStore.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Deletes one version, or with `version` 0 the model with all its versions. The numbers are never
  // used again, also not by a later model of the same name. A model whose last version was deleted
  // is gone. Errors: kNotFound, kFailedPrecondition (reason VERSION_HAS_ALIAS), before it those of `check`, as in all
  // changes.
  virtual void DeleteModel(std::string name, int64_t version, absl::Time now, OwnerCheck check,
                           Done<DeletedVersions> done) = 0;
  absl::StatusOr<DeletedVersions> DeleteModel(std::string name, int64_t version, absl::Time now,
                                              OwnerCheck check = nullptr) {
    return WaitFor(this, &ModelStore::DeleteModel, std::move(name), version, now, std::move(check));
  }

  // Errors: kNotFound.
  virtual absl::StatusOr<ModelRecord> GetModel(const std::string& name) = 0;
  // `version` 0: the newest. Errors: kNotFound.
  virtual absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) = 0;
  // By name, unless the query says otherwise. Errors: as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page,
                                                       const ListQuery& query) = 0;
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page) {
    return ListModels(page, {});
  }
  // Those of one model, or with an empty name of all; newest first, unless the filter's query says otherwise. Errors:
  // kNotFound; as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name,
                                                           const PageRequest& page,
                                                           const VersionFilter& filter) = 0;
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name,
                                                   const PageRequest& page) {
    return ListVersions(name, page, {});
  }

  // Errors: kNotFound, kAborted (reason STALE_ETAG); so also UpdateVersion.
  virtual void UpdateModel(ModelUpdate update, Done<ModelRecord> done) = 0;
  absl::StatusOr<ModelRecord> UpdateModel(ModelUpdate update) {
    return WaitFor(this, &ModelStore::UpdateModel, std::move(update));
  }
  virtual void UpdateVersion(VersionUpdate update, Done<VersionRecord> done) = 0;
  absl::StatusOr<VersionRecord> UpdateVersion(VersionUpdate update) {
    return WaitFor(this, &ModelStore::UpdateVersion, std::move(update));
  }

  // Deletes versions that are not among the newest `keep_newest` and have no alias, now and whenever
  // a version is added. Errors: kNotFound.
  virtual void SetRetention(RetentionChange change, Done<DeletedVersions> done) = 0;
  absl::StatusOr<DeletedVersions> SetRetention(RetentionChange change) {
    return WaitFor(this, &ModelStore::SetRetention, std::move(change));
  }

  // Answers the alias as it is then; also of a removed one. A move to where it is already changes
  // nothing. Errors: kNotFound (the model, the version, or reason ALIAS_NOT_FOUND: there is nothing
  // to remove or roll back), kAborted (reason STALE_ETAG, metadata etag: the one it has; also when
  // another change came before a rollback), kFailedPrecondition (reason NO_EARLIER_VERSION),
  // kAlreadyExists (reason REQUEST_ID_REUSED).
  virtual void MoveAlias(AliasMove move, Done<AliasRecord> done) = 0;
  absl::StatusOr<AliasRecord> MoveAlias(AliasMove move) {
    return WaitFor(this, &ModelStore::MoveAlias, std::move(move));
  }
  // What MoveAlias with this request_id of the caller has answered. Errors: kAlreadyExists as there.
  virtual absl::StatusOr<std::optional<AliasRecord>> FindMove(
      const std::string& caller, const std::string& request_id,
      const std::string& request_digest) = 0;

  // Errors: kNotFound (the model, or reason ALIAS_NOT_FOUND).
  virtual absl::StatusOr<AliasRecord> GetAlias(const std::string& model,
                                               const std::string& alias) = 0;
  // As it was after the last change at or before `time`. Errors: as GetAlias.
  virtual absl::StatusOr<AliasRecord> GetAliasAt(const std::string& model, const std::string& alias,
                                                 absl::Time time) = 0;
  // By name. Errors: kNotFound; as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<AliasRecord>> ListAliases(const std::string& model,
                                                        const PageRequest& page) = 0;
  // Newest first, of a removed alias too. Errors: as GetAlias; as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<AliasChange>> ListAliasChanges(const std::string& model,
                                                             const std::string& alias,
                                                             const PageRequest& page) = 0;
};

}  // namespace mercer::server
