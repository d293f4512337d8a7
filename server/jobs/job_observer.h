// Who counts and measures what becomes of jobs.
#pragma once

#include "absl/time/time.h"

#include "server/storage/records.h"

namespace mercer::server {

// Told once of each thing, by threads of the storage and of workers. Must be thread-safe and quick, throw nothing, and not
// wait for a change of the storage.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // A worker has taken the job; `job.attempt` says how often that has happened.
  virtual void OnClaimed(const JobRecord& job) = 0;
  // A worker has done with an attempt, after so much time: whatever has come of it, and before that is stored.
  virtual void OnWorked(const JobRecord& job, absl::Duration time) = 0;
  // The job is in a final state now.
  virtual void OnEnded(const JobRecord& job) = 0;
};

}  // namespace mercer::server
