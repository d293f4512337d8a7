// Opened data sets, shared by all that use them at the same time.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/cancellation.h"
#include "core/data/table/dataset.h"
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

  // To look at the shape: the file was verified when it was opened first, and may have rotted since. Those who ask for the
  // same data at the same time wait for the first of them. Errors: kNotFound (reason DATASET_NOT_FOUND), kDataLoss
  // (BLOB_MISSING, BLOB_DAMAGED).
  absl::StatusOr<OpenedDataset> Open(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // To use the values: all bytes of the file are verified by this call. Errors besides: kCancelled.
  absl::StatusOr<OpenedDataset> OpenVerified(const std::string& id,
                                             const CancellationToken& cancellation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The data of a data set that was stored as `blob`, whatever its id, verified by this call. Errors: kNotFound, kDataLoss
  // (BLOB_DAMAGED), kCancelled.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenContent(const BlobDigest& blob,
                                                             const CancellationToken& cancellation)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using DatasetPointer = std::shared_ptr<const Dataset>;
  struct Opened {
    std::weak_ptr<const Dataset> dataset;
    FileIdentity file;  // that is mapped: damaged ones are replaced by uploads of the same content
  };
  // A file that is being opened; guarded by mutex_.
  struct Opening {
    bool done = false;
    absl::StatusOr<DatasetPointer> result;
  };

  // An absent or damaged file of a data set that is there is kDataLoss.
  absl::StatusOr<OpenedDataset> WithRecord(const DatasetRecord& record,
                                           absl::StatusOr<DatasetPointer> opened);
  void Forget(const BlobDigest& blob, const FileIdentity& unless) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<DatasetPointer> OpenBlob(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<DatasetPointer> OpenFile(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);

  Storage* const storage_;
  BlobStore* const blobs_;
  absl::Mutex mutex_;
  HashMap<BlobDigest, Opened> opened_ ABSL_GUARDED_BY(mutex_);
  HashMap<BlobDigest, std::shared_ptr<Opening>> openings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
