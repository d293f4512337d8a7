// Opened data sets, shared by all that use them at the same time.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/hash_table.h"
#include "core/data/dataset.h"
#include "server/blobs/blob_store.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct OpenedDataset {
  DatasetRecord record;
  std::shared_ptr<const Dataset> dataset;  // its rows are mapped from the blob's file
};

// Thread-safe. A data set is unmapped when its last user is gone.
class DatasetCache {
 public:
  // Both must outlive the cache.
  DatasetCache(Storage* storage, BlobStore* blobs) : storage_(storage), blobs_(blobs) {}

  // Those who ask for the same data at the same time wait for the first of them. Errors: kNotFound
  // (reason DATASET_NOT_FOUND), kDataLoss (BLOB_MISSING, BLOB_DAMAGED).
  absl::StatusOr<OpenedDataset> Open(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The data of a data set that was stored as `blob`, whatever its id. Errors: kNotFound, kDataLoss
  // (BLOB_DAMAGED).
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenContent(const BlobDigest& blob)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return OpenBlob(blob);
  }

 private:
  using DatasetPointer = std::shared_ptr<const Dataset>;
  // A file that is being opened; guarded by mutex_.
  struct Opening {
    bool done = false;
    absl::StatusOr<DatasetPointer> result;
  };

  absl::StatusOr<DatasetPointer> OpenBlob(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<DatasetPointer> OpenFile(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);

  Storage* const storage_;
  BlobStore* const blobs_;
  absl::Mutex mutex_;
  HashMap<BlobDigest, std::weak_ptr<const Dataset>> opened_ ABSL_GUARDED_BY(mutex_);
  HashMap<BlobDigest, std::shared_ptr<Opening>> openings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
