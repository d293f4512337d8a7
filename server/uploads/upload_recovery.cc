#include "server/uploads/upload_recovery.h"

#include <memory>
#include <optional>

#include "core/base/status/status_macros.h"

namespace mercer::server {

absl::Status RecoverUploads(const DatasetContext& context) {
  MERCER_RETURN_IF_ERROR(context.uploads->Recover(PolicyOfUploads(context)));
  for (const std::shared_ptr<UploadSession>& upload : context.uploads->All()) {
    MERCER_ASSIGN_OR_RETURN(
        const std::optional<DatasetRecord> made,
        context.upload_requests->FindUpload(context.storage->datasets(), upload->caller(),
                                            upload->header().upload_id()));
    if (made.has_value()) {
      context.uploads->Remove(upload).IgnoreError();  // else it expires
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
