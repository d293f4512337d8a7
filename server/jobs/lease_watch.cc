#include "server/jobs/lease_watch.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"

namespace mercer::server {

OrphanRecovery MakeOrphanRecovery(const AttemptEnvironment& environment) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  return {dependencies.storage, dependencies.blobs, dependencies.clock,
          environment.options.max_lost_attempts, dependencies.log.get()};
}

absl::StatusOr<bool> LeaseWatch::Look() {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  const absl::Duration now = dependencies.clock->Monotonic();
  if (now < next_look_) {
    return false;
  }
  next_look_ = now + kLeaseLookInterval;
  // Before the look: what is claimed behind it is not in its answer.
  std::map<std::string, AttemptPointer> own;
  for (AttemptPointer& attempt : running_.All()) {
    own[attempt->job().id] = std::move(attempt);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<HeldJob> held, dependencies.storage->jobs().HeldJobs());
  const OrphanRecovery recovery = MakeOrphanRecovery(environment_);
  bool any = false;
  absl::Status first_error;
  for (const HeldJob& job : held) {
    const auto attempt = own.find(job.lease.job_id);
    if (attempt != own.end() && attempt->second->lease() == job.lease) {
      attempt->second->Heed(RenewedLease{job.state, job.stop_requested});
      own.erase(attempt);
    } else if (job.expired && running_.Find(job.lease.job_id) == nullptr) {
      const absl::StatusOr<bool> ended = TakeOver(recovery, job.lease);
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

}  // namespace mercer::server
