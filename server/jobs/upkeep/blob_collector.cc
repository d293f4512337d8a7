#include "server/jobs/upkeep/blob_collector.h"

#include <algorithm>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// A file whose time lies ahead of the clock is young as well.
bool IsYoung(BlobStore& blobs, const BlobDigest& digest, absl::Duration grace) {
  const absl::StatusOr<FileIdentity> file = blobs.Identify(digest);
  return file.ok() && absl::Now() - absl::FromUnixNanos(file->modified_nanoseconds) < grace;
}

}  // namespace

absl::StatusOr<int64_t> DeleteReleasedBlobs(Storage& storage, BlobStore& blobs,
                                            const std::vector<BlobDigest>& released) {
  int64_t deleted = 0;
  for (const BlobDigest& digest : released) {
    MERCER_ASSIGN_OR_RETURN(const bool gone, blobs.DeleteIf(digest, [&]() -> absl::StatusOr<bool> {
      MERCER_ASSIGN_OR_RETURN(const bool referenced, storage.IsBlobReferenced(digest));
      return !referenced;
    }));
    deleted += gone ? 1 : 0;
  }
  return deleted;
}

absl::StatusOr<int64_t> DeleteUnusedDatasets(Storage& storage, BlobStore& blobs) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> hidden,
                          storage.datasets().UnusedHiddenDatasets());
  int64_t deleted = 0;
  absl::Status first_error;
  for (const std::string& id : hidden) {
    const absl::StatusOr<DatasetRecord> record = storage.datasets().DeleteHiddenDataset(id);
    if (absl::IsFailedPrecondition(record.status()) || absl::IsNotFound(record.status())) {
      continue;  // a job needs it, or somebody else was faster
    }
    first_error.Update(record.status());
    if (record.ok()) {
      ++deleted;
      first_error.Update(DeleteReleasedBlobs(storage, blobs, {record->blob}).status());
    }
  }
  MERCER_RETURN_IF_ERROR(first_error);
  return deleted;
}

absl::StatusOr<int64_t> CollectUnreferencedBlobs(Storage& storage, BlobStore& blobs,
                                                 absl::Duration grace,
                                                 const std::function<bool()>& is_stopped) {
  // Only candidates: each is looked up again before it is deleted.
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> stored, blobs.List());
  MERCER_ASSIGN_OR_RETURN(const std::vector<BlobDigest> referenced, storage.ReferencedBlobs());
  std::vector<BlobDigest> candidates;
  std::set_difference(stored.begin(), stored.end(), referenced.begin(), referenced.end(),
                      std::back_inserter(candidates));
  int64_t deleted = 0;
  for (const BlobDigest& digest : candidates) {
    if (is_stopped && is_stopped()) {
      break;
    }
    if (grace > absl::ZeroDuration() && IsYoung(blobs, digest, grace)) {
      continue;
    }
    MERCER_ASSIGN_OR_RETURN(const int64_t gone, DeleteReleasedBlobs(storage, blobs, {digest}));
    deleted += gone;
  }
  return deleted;
}

}  // namespace mercer::server
