#include "server/jobs/running_jobs.h"

#include <utility>

namespace mercer::server {

void RunningJobs::Add(AttemptPointer attempt, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  // The attempt before at the same job may not have been finished yet: its memory goes to this one.
  Job& job = jobs_[attempt->job().id];
  bytes_ += bytes - job.bytes;
  job = {std::move(attempt), bytes};
}

void RunningJobs::Finish(const JobAttempt& attempt) {
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

bool RunningJobs::ForgetEnded() {
  absl::MutexLock lock(&mutex_);
  const size_t forgotten = std::erase_if(jobs_, [](const auto& entry) {
    return !entry.second.working && entry.second.attempt->ended();
  });
  return forgotten > 0;
}

AttemptPointer RunningJobs::Find(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(job_id);
  return found == jobs_.end() ? nullptr : found->second.attempt;
}

std::vector<AttemptPointer> RunningJobs::All() const {
  absl::MutexLock lock(&mutex_);
  std::vector<AttemptPointer> attempts;
  for (const auto& [id, job] : jobs_) {
    attempts.push_back(job.attempt);
  }
  return attempts;
}

int64_t RunningJobs::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace mercer::server
