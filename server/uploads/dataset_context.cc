#include "server/uploads/dataset_context.h"

#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

UploadPolicy PolicyOfUploads(const DatasetContext& context) {
  UploadPolicy policy;
  policy.folder = context.upload_folder;
  policy.upload_bytes = context.limits.dataset_bytes;
  policy.space_bytes = context.limits.upload_space_bytes;
  policy.caller_space_bytes = context.limits.caller_upload_bytes;
  policy.expiry = context.limits.upload_expiry;
  policy.clock = context.clock;
  return policy;
}

void ReleaseBlobs(const DatasetContext& context, const std::vector<BlobDigest>& released) {
  DeleteReleasedBlobs(*context.storage, *context.blobs, released).IgnoreError();
}

absl::Status CheckDiskRoom(const DatasetContext& context, int64_t more) {
  return context.disk != nullptr ? context.disk->CheckRoom(more) : absl::OkStatus();
}

}  // namespace mercer::server
