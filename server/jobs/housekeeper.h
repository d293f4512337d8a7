// What a manager does again and again beside its workers, about every 100 ms.
#pragma once

#include "server/jobs/attempt_environment.h"
#include "server/jobs/given_up_jobs.h"
#include "server/jobs/job_ender.h"
#include "server/jobs/lease_watch.h"
#include "server/jobs/queue_signal.h"
#include "server/jobs/running_jobs.h"

namespace mercer::server {

// One thread at a time.
class Housekeeper {
 public:
  // All outlive this.
  Housekeeper(const AttemptEnvironment* environment, RunningJobs* running, GivenUpJobs* given_up,
              JobEnder* ender, QueueSignal* signal)
      : environment_(*environment),
        running_(*running),
        given_up_(*given_up),
        ender_(*ender),
        signal_(*signal),
        leases_(environment, running) {}

  // Writes progress that was held back, renews leases, looks at those of others, stores ends that could not be stored, wakes the
  // workers for jobs whose time has come, and deletes jobs that are to be forgotten and data sets that nothing needs any more.
  void DoRound();

 private:
  const AttemptEnvironment& environment_;
  RunningJobs& running_;
  GivenUpJobs& given_up_;
  JobEnder& ender_;
  QueueSignal& signal_;
  LeaseWatch leases_;
};

}  // namespace mercer::server
