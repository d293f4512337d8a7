#include "server/uploads/dataset_context.h"

#include <limits>

#include "core/base/status/status_macros.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/uploads/upload_requests.h"

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

absl::Status RecoverUploads(const DatasetContext& context) {
  MERCER_RETURN_IF_ERROR(context.uploads->Recover(PolicyOfUploads(context)));
  const auto all = context.uploads->List("", std::numeric_limits<int>::max());
  for (const std::shared_ptr<UploadSession>& upload : all.items) {
    MERCER_ASSIGN_OR_RETURN(
        const std::optional<DatasetRecord> made,
        FindUpload(context.storage->datasets(), upload->caller(), upload->header().upload_id()));
    if (made.has_value()) {
      context.uploads->Remove(upload).IgnoreError();  // else it expires
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
