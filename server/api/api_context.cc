#include "server/api/api_context.h"

#include "server/jobs/blob_collector.h"

namespace mercer::server {

void ReleaseBlobs(const ApiContext& context, const std::vector<BlobDigest>& released) {
  DeleteReleasedBlobs(*context.storage, *context.blobs, released).IgnoreError();
}

absl::Status CheckDiskRoom(const ApiContext& context) {
  return context.disk != nullptr ? context.disk->CheckRoom() : absl::OkStatus();
}

}  // namespace mercer::server
