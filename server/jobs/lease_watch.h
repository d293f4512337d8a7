// The look at all jobs that workers hold, of this server or of another: what was asked of them elsewhere, and whose leases have
// expired.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/jobs/attempt_environment.h"
#include "server/jobs/running_jobs.h"
#include "server/jobs/upkeep/orphans.h"

namespace mercer::server {

// Looks are so far apart, and a round of the housekeeping: a job that another process cancels or stops hears of it within a second.
inline constexpr absl::Duration kLeaseLookInterval = absl::Milliseconds(900);

OrphanRecovery MakeOrphanRecovery(const AttemptEnvironment& environment);

// One thread at a time.
class LeaseWatch {
 public:
  // Both outlive this.
  LeaseWatch(const AttemptEnvironment* environment, const RunningJobs* running)
      : environment_(*environment), running_(*running) {}

  // Looks, unless it has just done so: tells the attempts of `running` what their rows say, and ends those of others whose leases
  // have expired. Answers whether it has ended any. Errors: those of the storage; the next look does what this one has not.
  absl::StatusOr<bool> Look();

 private:
  const AttemptEnvironment& environment_;
  const RunningJobs& running_;
  absl::Duration next_look_ = -absl::InfiniteDuration();
};

}  // namespace mercer::server
