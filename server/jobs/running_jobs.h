// The jobs that a manager's workers have claimed, and the memory that they are counted with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/job_attempt.h"

namespace mercer::server {

using AttemptPointer = std::shared_ptr<JobAttempt>;

// Thread-safe. A job stays here until the end of its attempt is stored; its memory is given back when its worker is done.
class RunningJobs {
 public:
  void Add(AttemptPointer attempt, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    // The attempt before at the same job may not have been finished yet: its memory goes to this one.
    Job& job = jobs_[attempt->job().id];
    bytes_ += bytes - job.bytes;
    job = {std::move(attempt), bytes};
  }
  // The worker is done with the attempt.
  void Finish(const JobAttempt& attempt) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(attempt.job().id);
    if (found == jobs_.end() || found->second.attempt.get() != &attempt) {
      return;  // the job has a later attempt
    }
    bytes_ -= std::exchange(found->second.bytes, 0);
    found->second.working = false;
    if (attempt.ended()) {
      jobs_.erase(found);
    }
  }
  // Drops jobs that are finished and ended; answers whether there were any.
  bool ForgetEnded() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const size_t forgotten = std::erase_if(jobs_, [](const auto& entry) {
      return !entry.second.working && entry.second.attempt->ended();
    });
    return forgotten > 0;
  }

  // Null if the job is not here.
  AttemptPointer Find(const std::string& job_id) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(job_id);
    return found == jobs_.end() ? nullptr : found->second.attempt;
  }
  std::vector<AttemptPointer> All() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::vector<AttemptPointer> attempts;
    for (const auto& [id, job] : jobs_) {
      attempts.push_back(job.attempt);
    }
    return attempts;
  }
  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }

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
