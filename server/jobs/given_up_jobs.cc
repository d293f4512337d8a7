#include "server/jobs/given_up_jobs.h"

#include <iterator>
#include <utility>

#include <spdlog/logger.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_errors.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

void GivenUpJobs::GiveUp(const JobRecord& job, const absl::Status& why) {
  const ScopedAllocations scope(Allocations::kNeeded);  // nobody else ends a job that is claimed
  std::list<GivenUp> given_up;
  given_up.push_back({job, why});
  const auto& log = environment_.dependencies.log;
  if (log != nullptr) {
    log->error("{} could not be begun: {}", LogAttemptOf(job), LogTextOf(why));
  }
  const absl::Status stored =
      RunSafely("giving a job up", [&] { return StoreEnd(given_up.front()); });
  if (stored.ok()) {
    return;
  }
  if (log != nullptr) {
    log->warn("{} cannot end a job that could not be begun: {}", LogNameOf(job), stored.ToString());
  }
  absl::MutexLock lock(&mutex_);
  waiting_.splice(waiting_.end(), given_up);
}

bool GivenUpJobs::TryAgain() {
  std::list<GivenUp> left;
  {
    absl::MutexLock lock(&mutex_);
    left.swap(waiting_);
  }
  bool any = false;
  for (auto job = left.begin(); job != left.end();) {
    const auto next = std::next(job);
    if (RunSafely("giving a job up", [&] { return StoreEnd(*job); }).ok()) {
      left.erase(job);
      any = true;
    }
    job = next;
  }
  absl::MutexLock lock(&mutex_);
  waiting_.splice(waiting_.end(), left);
  return any;
}

absl::Status GivenUpJobs::StoreEnd(const GivenUp& given_up) const {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  const JobRecord& job = given_up.job;
  JobStore& jobs = dependencies.storage->jobs();
  MERCER_ASSIGN_OR_RETURN(
      AttemptEnd end,
      EndOfFailedServer({&jobs, dependencies.clock->Now(), environment_.options.max_lost_attempts},
                        job.id, given_up.why));
  end.lease = {job.id, job.lease_worker, job.epoch};
  end.now = dependencies.clock->Now();
  absl::StatusOr<EndedAttempt> stored = jobs.EndAttempt(end);
  if (GetReason(stored.status()) == "CANCEL_REQUESTED") {
    end.state = JobState::kCancelled;
    end.reason = AttemptReason::kCancelled;
    end.error.reset();
    end.not_before = absl::InfinitePast();
    end.events = {StateEvent(JobState::kCancelled)};
    stored = jobs.EndAttempt(std::move(end));
  }
  if (absl::IsAborted(stored.status())) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(stored.status());
  // What cannot be deleted now is collected later.
  DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, stored->released_blobs)
      .IgnoreError();
  return absl::OkStatus();
}

}  // namespace mercer::server
