// Deletes what nothing needs any more: blobs that no row names, data sets that are hidden.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/blobs/blob_store.h"
#include "server/storage/storage.h"

namespace mercer::server {

// Deletes those of `released` that no row names and nobody pins. Call it after DeleteDataset,
// DeleteModel and the like. Answers the number of deleted blobs; stops at the first error (the
// blobs are found by the next CollectUnreferencedBlobs).
absl::StatusOr<int64_t> DeleteReleasedBlobs(Storage& storage, BlobStore& blobs,
                                            const std::vector<BlobDigest>& released);

// Deletes the hidden data sets that no job needs any more, and their blobs. Answers their number; goes on after an error, and answers the first.
absl::StatusOr<int64_t> DeleteUnusedDatasets(Storage& storage, BlobStore& blobs);

// Looks at every blob, while others write: one that is pinned, that was stored within `grace`, or that a row names by the time its
// turn comes, stays. Ends early when `is_stopped` (may be empty) says so. Answers the number of deleted blobs.
absl::StatusOr<int64_t> CollectUnreferencedBlobs(Storage& storage, BlobStore& blobs,
                                                 absl::Duration grace = absl::ZeroDuration(),
                                                 const std::function<bool()>& is_stopped = {});

}  // namespace mercer::server
