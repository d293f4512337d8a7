#include "server/jobs/job_ender.h"

#include <utility>

#include <spdlog/logger.h>

#include "core/base/status/status_macros.h"
#include "server/jobs/record/end_requests.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

absl::StatusOr<JobRecord> JobEnder::Cancel(const std::string& job_id, const OwnerCheck& check) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_ASSIGN_OR_RETURN(EndedAttempt ended,
                          dependencies.storage->jobs().CancelJob(
                              MakeCancelRequest(job_id, dependencies.clock->Now(), check)));
  signal_.Tell();  // the head of the queue may be another now
  if (const AttemptPointer attempt = running_.Find(job_id); attempt != nullptr) {
    attempt->Cancel();
  }
  const auto deleted =
      DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, ended.released_blobs);
  if (!deleted.ok() && dependencies.log != nullptr) {
    dependencies.log->warn("{} cannot delete the checkpoint: {}", LogNameOf(ended.job),
                           deleted.status().ToString());
  }
  return std::move(ended.job);
}

absl::StatusOr<JobRecord> JobEnder::Stop(const std::string& job_id, const OwnerCheck& check) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_ASSIGN_OR_RETURN(EndedAttempt stopped,
                          dependencies.storage->jobs().StopJob(
                              MakeStopRequest(job_id, dependencies.clock->Now(), check)));
  if (const AttemptPointer attempt = running_.Find(job_id);
      attempt != nullptr && stopped.job.stop_requested) {
    attempt->Stop();
  }
  signal_.Tell();  // the head of the queue may be another now
  return std::move(stopped.job);
}

}  // namespace mercer::server
