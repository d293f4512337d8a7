// Cancels and stops jobs, wherever they are: waiting, with a worker of this process, or with another server.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "server/jobs/attempt_environment.h"
#include "server/jobs/queue_signal.h"
#include "server/jobs/running_jobs.h"

namespace mercer::server {

// Thread-safe. Errors: those of JobManager::Cancel and Stop.
class JobEnder {
 public:
  // All outlive this.
  JobEnder(const AttemptEnvironment* environment, const RunningJobs* running, QueueSignal* signal)
      : environment_(*environment), running_(*running), signal_(*signal) {}

  absl::StatusOr<JobRecord> Cancel(const std::string& job_id, const OwnerCheck& check);
  absl::StatusOr<JobRecord> Stop(const std::string& job_id, const OwnerCheck& check);
  // Errors: those of JobManager::Forget.
  absl::Status Forget(const std::string& job_id);
  // Forgets all jobs that calls of dead processes have waited for. One that cannot be deleted is done as any other.
  absl::Status ForgetOfCalls();

 private:
  void Warn(const JobRecord& job, const char* what, const absl::Status& status) const;

  const AttemptEnvironment& environment_;
  const RunningJobs& running_;
  QueueSignal& signal_;
};

}  // namespace mercer::server
