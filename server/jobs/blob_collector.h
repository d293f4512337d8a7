// Deletes blobs that nothing names any more.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "server/blobs/blob_store.h"
#include "server/storage/storage.h"

namespace mercer::server {

// Deletes those of `released` that no row names and nobody pins. Call it after DeleteDataset,
// DeleteModel and the like. Answers the number of deleted blobs; stops at the first error (the
// blobs are found by the next CollectUnreferencedBlobs).
absl::StatusOr<int64_t> DeleteReleasedBlobs(Storage& storage, BlobStore& blobs,
                                            const std::vector<BlobDigest>& released);

// Looks at every blob.
absl::StatusOr<int64_t> CollectUnreferencedBlobs(Storage& storage, BlobStore& blobs);

}  // namespace mercer::server
