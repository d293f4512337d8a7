#include "server/jobs/upkeep/job_retention.h"

#include <algorithm>
#include <utility>

#include <spdlog/logger.h>

#include "core/base/status/status_macros.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

JobRetention::JobRetention(JobRetentionDependencies dependencies, absl::Duration keep)
    : dependencies_(std::move(dependencies)),
      start_(dependencies_.clock->Now()),
      start_monotonic_(dependencies_.clock->Monotonic()),
      keep_(keep) {}

absl::Time JobRetention::Now() const {
  const absl::Duration passed = dependencies_.clock->Monotonic() - start_monotonic_;
  return std::min(dependencies_.clock->Now(), start_ + passed);
}

absl::StatusOr<int64_t> JobRetention::DeleteOldJobs(const std::function<bool()>& is_stopped) {
  const absl::Duration keep = keep_;
  if (keep <= absl::ZeroDuration()) {
    return 0;
  }
  FinishedJobs which;
  which.ended_before = Now() - keep;
  int64_t deleted = 0;
  while (!is_stopped || !is_stopped()) {
    MERCER_ASSIGN_OR_RETURN(const DeletedJobs batch,
                            dependencies_.storage->jobs().DeleteFinishedJobs(which));
    if (batch.ids.empty()) {
      break;
    }
    deleted += static_cast<int64_t>(batch.ids.size());
    // What fails is found by the next collection.
    DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, batch.released_blobs)
        .IgnoreError();
  }
  if (deleted > 0 && dependencies_.log != nullptr) {
    dependencies_.log->info("deleted jobs={} that ended more than {} ago", deleted,
                            absl::FormatDuration(keep));
  }
  return deleted;
}

}  // namespace mercer::server
