// Opened data sets, shared by all that use them at the same time, and by those who come soon after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/memory/lru_cache.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/process/cancellation.h"
#include "core/base/process/single_flight.h"
#include "core/data/table/dataset.h"
#include "server/blobs/blob_store.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct OpenedDataset {
  DatasetRecord record;
  std::shared_ptr<const Dataset> dataset;  // its rows are mapped from the blob's file
};

// The data set, unless it is hidden. Errors: kNotFound (reason DATASET_NOT_FOUND); those of `opened`.
absl::StatusOr<std::shared_ptr<const Dataset>> IfVisible(absl::StatusOr<OpenedDataset> opened);

// What is kept for the next job: of larger data sets the opening is little beside the training.
inline constexpr int64_t kKeptDatasetBytes = int64_t{64} << 20;
inline constexpr size_t kMostHeldBytes = size_t{1} << 20;

// Thread-safe. A data set is unmapped when its last user is gone and it is not kept. What is kept saves small jobs the time to
// map it, look through it and unmap it again; its bytes are those of the file, which the system may drop from memory. What holds
// more than kMostHeldBytes beside it, as sparse blocks do, is not kept: no job would account for it.
class DatasetCache {
 public:
  // Both must outlive the cache. Kept are the data sets opened or asked for last, as long as their files have no more than
  // `kept_bytes` together.
  DatasetCache(Storage* storage, BlobStore* blobs, int64_t kept_bytes = 0)
      : storage_(storage), blobs_(blobs), kept_(kept_bytes) {}

  // To look at the shape: the file was verified when it was opened first, and may have rotted since. Those who ask for the
  // same data at the same time wait for the first of them. Errors: kNotFound (reason DATASET_NOT_FOUND), kDataLoss
  // (BLOB_MISSING, BLOB_DAMAGED).
  absl::StatusOr<OpenedDataset> Open(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // To use the values: all bytes of the file are verified by this call. Errors besides: kCancelled.
  absl::StatusOr<OpenedDataset> OpenVerified(const std::string& id,
                                             const CancellationToken& cancellation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The data of a data set that was stored as `blob`, whatever its id: its shape, or verified by this call. Errors: kNotFound,
  // kDataLoss (BLOB_DAMAGED), kCancelled.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenShape(const BlobDigest& blob)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenContent(const BlobDigest& blob,
                                                             const CancellationToken& cancellation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Keeps nothing any more that nobody has asked for between `now` and a call kLookPeriod or more before; calls between the two
  // do nothing. So the room on the disk of a deleted data set is free soon after.
  void DropUnused(absl::Duration now) ABSL_LOCKS_EXCLUDED(mutex_);
  static constexpr absl::Duration kLookPeriod = absl::Seconds(5);

 private:
  using DatasetPointer = std::shared_ptr<const Dataset>;
  struct Opened {
    std::weak_ptr<const Dataset> dataset;
    FileIdentity file;  // that is mapped: damaged ones are replaced by uploads of the same content
  };

  // An absent or damaged file of a data set that is there is kDataLoss.
  absl::StatusOr<OpenedDataset> WithRecord(const DatasetRecord& record,
                                           absl::StatusOr<DatasetPointer> opened);
  void Forget(const BlobDigest& blob, const FileIdentity& unless) ABSL_LOCKS_EXCLUDED(mutex_);
  // The data set if it is open and its file is the one that is there now; else null.
  DatasetPointer FindOpen(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);
  DatasetPointer FindOpened(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const BlobDigest& blob, const DatasetPointer& dataset, int64_t bytes);
  absl::StatusOr<DatasetPointer> OpenFile(const BlobDigest& blob) ABSL_LOCKS_EXCLUDED(mutex_);

  Storage* const storage_;
  BlobStore* const blobs_;
  absl::Mutex mutex_;
  HashMap<BlobDigest, Opened> opened_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_look_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  LruCache<DatasetPointer> kept_;
  SingleFlight<DatasetPointer> openings_;
};

}  // namespace mercer::server
