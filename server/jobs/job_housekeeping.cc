// What a manager does again and again beside its workers.
#include <iterator>
#include <map>
#include <utility>

#include <spdlog/logger.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/orphans.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kHousekeepingPeriod = absl::Milliseconds(100);

// Stores the end of an attempt that could not be begun. Errors: those of the storage, but that the lease is lost, which leaves nothing
// to end.
absl::Status EndUnbegun(const AttemptEnvironment& environment, const JobRecord& job,
                        const absl::Status& why) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  JobStore& jobs = dependencies.storage->jobs();
  MERCER_ASSIGN_OR_RETURN(
      AttemptEnd end, EndOfFailedServer(jobs, environment.options.max_lost_attempts, job.id, why));
  end.now = dependencies.clock->Now();
  end.lease = {job.id, job.lease_worker, job.epoch};
  const absl::StatusOr<EndedAttempt> stored = EndOrCancel(jobs, end, false);
  if (absl::IsAborted(stored.status())) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(stored.status());
  // What cannot be deleted now is collected later.
  DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, stored->released_blobs)
      .IgnoreError();
  return absl::OkStatus();
}

}  // namespace

void JobManager::KeepHouse() {
  while (!rest_.For(kHousekeepingPeriod)) {
    RunSafely("housekeeping", [this] {
      RunHousekeeping();
      environment_.datasets->DropUnused(clock().Monotonic());
      return absl::OkStatus();
    }).IgnoreError();  // the next round does what this one has not
  }
}

void JobManager::RunHousekeeping() {
  for (const AttemptPointer& attempt : running_.All()) {
    // What one of them cannot do now is no reason to leave out the others.
    RunSafely("housekeeping of an attempt", [&] {
      attempt->RunHousekeeping();
      return absl::OkStatus();
    }).IgnoreError();
  }
  const absl::StatusOr<bool> taken_over =
      RunSafely("looking at leases", [this] { return LookAtLeases(); });
  const bool ended = EndGivenUp();
  // A job stays due while the storage refuses the claim of it, as on a full disk: it is then tried about once a second.
  const bool claims = clock().Monotonic() >= absl::Nanoseconds(claims_rest_until_.load());
  if (running_.ForgetEnded() || ended || taken_over.value_or(true) ||
      (claims && storage().jobs().HasDueJobs().value_or(false))) {
    signal_.Tell();  // a job is queued again, or its time has come, or its caller has one less
  }
  RunSafely("forgetting jobs", [this] {
    ForgetLeft();
    return absl::OkStatus();
  }).IgnoreError();
  // What fails is found again by the next round.
  DeleteUnusedDatasets(storage(), *environment_.dependencies.blobs).IgnoreError();
}

absl::StatusOr<bool> JobManager::LookAtLeases() {
  const absl::Duration now = clock().Monotonic();
  if (now < next_look_) {
    return false;
  }
  next_look_ = now + kLeaseLookInterval;
  // Before the look: what is claimed behind it is not in its answer.
  std::map<std::string, AttemptPointer> own;
  for (AttemptPointer& attempt : running_.All()) {
    own[attempt->job().id] = std::move(attempt);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<HeldJob> held, storage().jobs().HeldJobs());
  bool any = false;
  absl::Status first_error;
  for (const HeldJob& job : held) {
    const auto attempt = own.find(job.lease.job_id);
    if (attempt != own.end() && attempt->second->lease() == job.lease) {
      attempt->second->Heed(RenewedLease{job.state, job.stop_requested});
      own.erase(attempt);
    } else if (job.expired && running_.Find(job.lease.job_id) == nullptr) {
      const absl::StatusOr<bool> ended = TakeOver(environment_, job.lease);
      first_error.Update(ended.status());
      any |= ended.ok() && *ended;
    }
  }
  for (const auto& [id, attempt] : own) {  // ended, or taken over by somebody else
    attempt->Heed(LeaseLost(attempt->lease()));
  }
  MERCER_RETURN_IF_ERROR(first_error);
  return any;
}

void JobManager::GiveUp(const JobRecord& job, const absl::Status& why) {
  const ScopedAllocations scope(Allocations::kNeeded);  // nobody else ends a job that is claimed
  if (environment_.dependencies.log != nullptr) {
    environment_.dependencies.log->error("{} could not be begun: {}", LogAttemptOf(job),
                                         LogTextOf(why));
  }
  std::list<GivenUpJob> left;
  left.push_back({job, why});
  const absl::Status ended =
      RunSafely("giving a job up", [&] { return EndUnbegun(environment_, job, why); });
  if (!ended.ok()) {
    if (environment_.dependencies.log != nullptr) {
      environment_.dependencies.log->warn("cannot end a job that could not be begun: {}",
                                          LogTextOf(ended));
    }
    absl::MutexLock lock(&given_up_mutex_);
    given_up_.splice(given_up_.end(), left);
  }
}

bool JobManager::EndGivenUp() {
  std::list<GivenUpJob> left;
  {
    absl::MutexLock lock(&given_up_mutex_);
    left.swap(given_up_);
  }
  const size_t ended = std::erase_if(left, [this](const GivenUpJob& job) {
    return RunSafely("giving a job up", [&] { return EndUnbegun(environment_, job.job, job.why); })
        .ok();
  });
  absl::MutexLock lock(&given_up_mutex_);
  given_up_.splice(given_up_.end(), left);
  return ended > 0;
}

}  // namespace mercer::server
