// What data sets are stored with, and how much of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "core/base/process/live_value.h"
#include "core/base/status/errors.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/disk_guard.h"
#include "server/budget/budget.h"
#include "server/jobs/record/clock.h"
#include "server/storage/storage.h"
#include "server/uploads/unfinished_uploads.h"

namespace mercer::server {

// Live ones may change while calls run, each of which keeps to what it has read.
struct ApiLimits {
  int64_t message_bytes = int64_t{64} << 20;  // of one request or response
  // Of one data set: of what is sent, of what it inflates to, and of its cells as numbers.
  LiveValue<int64_t> dataset_bytes = int64_t{16} << 30;
  int default_threads = 1;  // of a job that does not say
  // Of all unfinished uploads together.
  LiveValue<int64_t> upload_space_bytes = int64_t{64} << 30;
  LiveValue<int64_t> caller_upload_bytes = int64_t{64} << 30;  // of them, those of one caller
  // Of an upload that can be resumed, since its last byte.
  LiveValue<absl::Duration> upload_expiry = absl::Hours(24);
  LiveValue<int64_t> stored_bytes = int64_t{0};  // of all data sets together; 0: no limit
};

// What data sets are stored with, by uploads and by the calls about what is stored; all outlives it.
struct DatasetContext {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  const DiskGuard* disk = nullptr;  // may be null: uploads are taken however full the disk is
  DiskReserve* reserve = nullptr;   // may be null
  std::string upload_folder;        // for the bytes of unfinished uploads; exists
  std::shared_ptr<UnfinishedUploads> uploads = std::make_shared<UnfinishedUploads>();
  // All parses together keep within limits.dataset_bytes.
  Budget parse_budget = {};
  // Of tables that are taken in while they come, which may take for ever: others do not wait for them.
  Budget intake_budget = {};
  ApiLimits limits;
  const Clock* clock = &RealClock();
};

UploadPolicy PolicyOfUploads(const DatasetContext& context);
// Takes up the uploads that an earlier process has left, but for those that have made their data sets: these had only to be
// removed. Call it before all else that is about uploads. Errors: those of the file system and of the storage.
absl::Status RecoverUploads(const DatasetContext& context);
// Whether the disk has room for new work that writes `more` bytes. Errors: kResourceExhausted (reason DISK_NEARLY_FULL).
absl::Status CheckDiskRoom(const DatasetContext& context, int64_t more = 0);

template <typename Change>
auto ChangeThatFrees(const DatasetContext& context, const Change& change) {
  return ChangeThatFrees(context.reserve, change);
}

// Deletes the blobs that a deletion has released. What fails is found again by the next collection:
// there is one at each start, and one every --collect-interval.
void ReleaseBlobs(const DatasetContext& context, const std::vector<BlobDigest>& released);

}  // namespace mercer::server
