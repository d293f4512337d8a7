// The stores of one server, which share one transaction log.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/dataset_store.h"
#include "server/storage/job_store.h"
#include "server/storage/model_store.h"

namespace mercer::server {

// The destructor waits until every change that was accepted is answered.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual DatasetStore& datasets() = 0;
  virtual JobStore& jobs() = 0;
  virtual EventLog& events() = 0;
  virtual ModelStore& models() = 0;

  // Whether a data set, checkpoint or model version names the blob.
  virtual absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) = 0;
  // Every blob that something names, sorted, each once.
  virtual absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() = 0;

  // About how many bytes WriteSnapshot writes.
  virtual int64_t SnapshotBytes() = 0;
  // Writes everything, as of one moment, to the new file `path` while changes go on; answers what ReferencedBlobs()
  // was at that moment. `is_cancelled` is asked again and again. Errors: kCancelled. What is at `path` after an error
  // is the caller's to remove.
  virtual absl::StatusOr<std::vector<BlobDigest>> WriteSnapshot(
      const std::string& path, const std::function<bool()>& is_cancelled) = 0;
};

}  // namespace mercer::server
