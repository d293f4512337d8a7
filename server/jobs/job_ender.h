// Cancels and stops jobs, wherever they are: waiting, with a worker of this process, or with another server.
#pragma once

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

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
  // What cannot be deleted yet waits for ForgetLeft. Errors: those of JobManager::Forget.
  absl::StatusOr<JobRecord> Forget(const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Deletes the jobs that are to be forgotten and that no worker holds any more.
  void ForgetLeft() ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets all jobs that calls of dead processes have waited for.
  absl::Status ForgetOfCalls() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<JobRecord> TryToForget(const std::string& job_id);
  void DropPlanOf(const JobRecord& job) const;  // which nobody asks for any more, if it is over
  void Warn(const JobRecord& job, const char* what, const absl::Status& status) const;

  const AttemptEnvironment& environment_;
  const RunningJobs& running_;
  QueueSignal& signal_;
  absl::Mutex mutex_;
  std::set<std::string> left_ ABSL_GUARDED_BY(mutex_);  // to be forgotten
};

}  // namespace mercer::server
