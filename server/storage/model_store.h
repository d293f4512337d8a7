// The registry of models: names, dense version numbers, labels. Versions are made by
// JobStore::EndAttempt alone.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/completion.h"
#include "server/storage/records.h"

namespace mercer::server {

struct DeletedVersions {
  std::vector<int64_t> versions;
  std::vector<BlobDigest> released_blobs;  // others may name them
};

// Thread-safe; common errors as in DatasetStore.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Deletes one version, or with `version` 0 the model with all its versions. The numbers are never
  // used again, also not by a later model of the same name. A model whose last version was deleted
  // is gone. Errors: kNotFound.
  virtual void DeleteModel(std::string name, int64_t version, absl::Time now,
                           Done<DeletedVersions> done) = 0;
  absl::StatusOr<DeletedVersions> DeleteModel(std::string name, int64_t version, absl::Time now);

  // Errors: kNotFound.
  virtual absl::StatusOr<ModelRecord> GetModel(const std::string& name) = 0;
  // `version` 0: the newest. Errors: kNotFound.
  virtual absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) = 0;
  // By name. Errors: as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page) = 0;
  // Newest first. Errors: kNotFound; as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name,
                                                           const PageRequest& page) = 0;
};

}  // namespace mercer::server
