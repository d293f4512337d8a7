// The jobs that a manager's workers have claimed, and the memory that they are counted with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/job_attempt.h"

namespace mercer::server {

using AttemptPointer = std::shared_ptr<JobAttempt>;

// Thread-safe. A job stays here until the end of its attempt is stored; its memory is given back when its worker is done.
class RunningJobs {
 public:
  void Add(AttemptPointer attempt, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The worker is done with the attempt.
  void Finish(const JobAttempt& attempt) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops jobs that are finished and ended; answers whether there were any.
  bool ForgetEnded() ABSL_LOCKS_EXCLUDED(mutex_);

  // Null if the job is not here.
  AttemptPointer Find(const std::string& job_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<AttemptPointer> All() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Job {
    AttemptPointer attempt;
    int64_t bytes = 0;    // its estimate; 0 once it is finished
    bool working = true;  // false: only its end waits to be stored
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);  // by job id
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercer::server
