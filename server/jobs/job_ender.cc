#include "server/jobs/job_ender.h"

#include <utility>

#include <spdlog/logger.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/call_label.h"
#include "server/jobs/record/end_requests.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

absl::StatusOr<JobRecord> JobEnder::Cancel(const std::string& job_id, const OwnerCheck& check) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_ASSIGN_OR_RETURN(EndedAttempt ended,
                          dependencies.storage->jobs().CancelJob(
                              MakeCancelRequest(job_id, dependencies.clock->Now(), check)));
  DropPlanOf(ended.job);
  signal_.Tell();  // the head of the queue may be another now
  if (const AttemptPointer attempt = running_.Find(job_id); attempt != nullptr) {
    attempt->Cancel();
  }
  const auto deleted =
      DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, ended.released_blobs);
  if (!deleted.ok()) {
    Warn(ended.job, "cannot delete the checkpoint", deleted.status());
  }
  return std::move(ended.job);
}

absl::StatusOr<JobRecord> JobEnder::Stop(const std::string& job_id, const OwnerCheck& check) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  MERCER_ASSIGN_OR_RETURN(EndedAttempt stopped,
                          dependencies.storage->jobs().StopJob(
                              MakeStopRequest(job_id, dependencies.clock->Now(), check)));
  DropPlanOf(stopped.job);
  if (const AttemptPointer attempt = running_.Find(job_id);
      attempt != nullptr && stopped.job.stop_requested) {
    attempt->Stop();
  }
  signal_.Tell();  // the head of the queue may be another now
  return std::move(stopped.job);
}

absl::StatusOr<JobRecord> JobEnder::Forget(const std::string& job_id) {
  absl::StatusOr<JobRecord> forgotten = TryToForget(job_id);
  absl::MutexLock lock(&mutex_);
  if (forgotten.ok() || absl::IsNotFound(forgotten.status())) {
    left_.erase(job_id);
  } else {
    left_.insert(job_id);
  }
  return forgotten;
}

void JobEnder::ForgetLeft() {
  std::set<std::string> left;
  {
    absl::MutexLock lock(&mutex_);
    left = left_;
  }
  for (const std::string& id : left) {
    const absl::StatusOr<JobRecord> job = environment_.dependencies.storage->jobs().GetJob(id);
    if (!job.ok() || job->state != JobState::kCancelling) {
      Forget(id).IgnoreError();  // the next round tries again
    }
  }
}

absl::StatusOr<JobRecord> JobEnder::TryToForget(const std::string& job_id) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  JobStore& jobs = dependencies.storage->jobs();
  absl::StatusOr<DeletedJob> deleted = jobs.DeleteJob(job_id);
  if (GetReason(deleted.status()) == "JOB_NOT_FINAL") {
    MERCER_RETURN_IF_ERROR(Cancel(job_id, nullptr).status());
    deleted = jobs.DeleteJob(job_id);
  }
  MERCER_RETURN_IF_ERROR(deleted.status());
  MERCER_RETURN_IF_ERROR(
      DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, deleted->released_blobs)
          .status());
  return std::move(deleted->job);
}

absl::Status JobEnder::ForgetOfCalls() {
  JobFilter filter;
  filter.labels = {{kCallLabel, kCallLabelValue}};
  // Others may have got the label from requests of earlier versions.
  filter.kinds = {JobKind::kEvaluation, JobKind::kVerification};
  PageRequest request;
  do {
    MERCER_ASSIGN_OR_RETURN(const Page<JobRecord> page,
                            environment_.dependencies.storage->jobs().ListJobs(filter, request));
    for (const JobRecord& job : page.items) {
      if (const auto forgotten = Forget(job.id); !forgotten.ok()) {
        Warn(job, "was made for a call of a dead process, and stays for now", forgotten.status());
      }
    }
    request.token = page.next_token;
  } while (!request.token.empty());
  return absl::OkStatus();
}

void JobEnder::DropPlanOf(const JobRecord& job) const {
  if (IsFinal(job.state)) {
    environment_.plans->Take(job.id, "");
  }
}

void JobEnder::Warn(const JobRecord& job, const char* what, const absl::Status& status) const {
  if (environment_.dependencies.log != nullptr) {
    environment_.dependencies.log->warn("{} {}: {}", LogNameOf(job), what, status.ToString());
  }
}

}  // namespace mercer::server
