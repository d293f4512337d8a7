// The ends of jobs that somebody asks for, wherever they are: waiting, with a worker of this process, or with another server.
#include <utility>

#include <spdlog/logger.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/no_model.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/record/job_event.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {
namespace {

StopRequest MakeStopRequest(const std::string& job_id, absl::Time now, const OwnerCheck& check) {
  constexpr char kWhy[] = "STOP_REQUESTED";
  const absl::Status no_model = NoModelError(StopReason::kStopRequested);
  return {job_id,
          now,
          StateEvent(JobState::kQueued, kWhy),
          StateEvent(JobState::kRunning, kWhy),
          StateEvent(JobState::kVerifying, kWhy),
          StateEvent(JobState::kCancelled, GetReason(no_model)),
          EncodeError(no_model),
          check};
}

}  // namespace

absl::StatusOr<JobRecord> JobManager::Cancel(const std::string& job_id, const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(
      EndedAttempt ended,
      storage().jobs().CancelJob({job_id, clock().Now(), StateEvent(JobState::kCancelling),
                                  StateEvent(JobState::kCancelled), check}));
  DropPlanOf(ended.job);
  signal_.Tell();  // the head of the queue may be another now
  if (const AttemptPointer attempt = running_.Find(job_id); attempt != nullptr) {
    attempt->Cancel();
  }
  DeleteReleased(ended);
  return std::move(ended.job);
}

absl::StatusOr<JobRecord> JobManager::Stop(const std::string& job_id, const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(EndedAttempt stopped,
                          storage().jobs().StopJob(MakeStopRequest(job_id, clock().Now(), check)));
  DropPlanOf(stopped.job);
  if (const AttemptPointer attempt = running_.Find(job_id);
      attempt != nullptr && stopped.job.stop_requested) {
    attempt->Stop();
  }
  signal_.Tell();  // the head of the queue may be another now
  DeleteReleased(stopped);
  return std::move(stopped.job);
}

absl::StatusOr<JobRecord> JobManager::Forget(const std::string& job_id) {
  absl::StatusOr<JobRecord> forgotten = TryToForget(job_id);
  absl::MutexLock lock(&left_mutex_);
  if (forgotten.ok() || absl::IsNotFound(forgotten.status())) {
    left_.erase(job_id);
  } else {
    left_.insert(job_id);
  }
  return forgotten;
}

void JobManager::ForgetLeft() {
  std::set<std::string> left;
  {
    absl::MutexLock lock(&left_mutex_);
    left = left_;
  }
  for (const std::string& id : left) {
    const absl::StatusOr<JobRecord> job = storage().jobs().GetJob(id);
    if (job.ok() && job->state == JobState::kCancelling) {
      continue;
    }
    // A job that a worker holds is asked to end, which frees nothing yet.
    const bool frees = job.ok() && (IsFinal(job->state) || job->state == JobState::kQueued);
    ChangeThatFrees(frees ? environment_.dependencies.reserve : nullptr, [&] {
      return Forget(id);
    }).IgnoreError();  // the next round tries again
  }
}

absl::StatusOr<JobRecord> JobManager::TryToForget(const std::string& job_id) {
  JobStore& jobs = storage().jobs();
  absl::StatusOr<DeletedJob> deleted = jobs.DeleteJob(job_id);
  if (GetReason(deleted.status()) == "JOB_NOT_FINAL") {
    MERCER_RETURN_IF_ERROR(Cancel(job_id, nullptr).status());
    deleted = jobs.DeleteJob(job_id);
  }
  MERCER_RETURN_IF_ERROR(deleted.status());
  MERCER_RETURN_IF_ERROR(
      DeleteReleasedBlobs(storage(), *environment_.dependencies.blobs, deleted->released_blobs)
          .status());
  return std::move(deleted->job);
}

absl::Status JobManager::ForgetOfCalls() {
  JobFilter filter;
  filter.labels = {{kCallLabel, kCallLabelValue}};
  // Others may have got the label from requests of earlier versions.
  filter.kinds = {JobKind::kEvaluation, JobKind::kVerification};
  PageRequest request;
  do {
    MERCER_ASSIGN_OR_RETURN(const Page<JobRecord> page, storage().jobs().ListJobs(filter, request));
    for (const JobRecord& job : page.items) {
      if (const auto forgotten = Forget(job.id); !forgotten.ok()) {
        Warn(job, "was made for a call of a dead process, and stays for now", forgotten.status());
      }
    }
    request.token = page.next_token;
  } while (!request.token.empty());
  return absl::OkStatus();
}

void JobManager::DeleteReleased(const EndedAttempt& ended) const {
  const auto deleted = DeleteReleasedBlobs(*environment_.dependencies.storage,
                                           *environment_.dependencies.blobs, ended.released_blobs);
  if (!deleted.ok()) {
    Warn(ended.job, "cannot delete the checkpoint", deleted.status());
  }
}

void JobManager::DropPlanOf(const JobRecord& job) const {
  if (IsFinal(job.state)) {
    environment_.plans->Take(job.id, "");
  }
}

void JobManager::Warn(const JobRecord& job, const char* what, const absl::Status& status) const {
  if (environment_.dependencies.log != nullptr) {
    environment_.dependencies.log->warn("{} {}: {}", LogNameOf(job), what, status.ToString());
  }
}

}  // namespace mercer::server
