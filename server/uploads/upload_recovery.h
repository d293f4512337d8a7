// What a start makes of the uploads that an earlier process has left.
#pragma once

#include "absl/status/status.h"

#include "server/uploads/dataset_context.h"

namespace mercer::server {

// Takes them up, but for those that have made their data sets: these had only to be removed. Call it before all else that is
// about uploads. Errors: those of the file system and of the storage.
absl::Status RecoverUploads(const DatasetContext& context);

}  // namespace mercer::server
