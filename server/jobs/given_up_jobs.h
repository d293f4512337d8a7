// Jobs that were claimed and whose attempts could not be begun.
#pragma once

#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/attempt_environment.h"
#include "server/storage/records.h"

namespace mercer::server {

// Stores the ends of such attempts. Without them the jobs would count as running until the next start. Thread-safe.
class GivenUpJobs {
 public:
  // `environment` must outlive this.
  explicit GivenUpJobs(const AttemptEnvironment* environment) : environment_(*environment) {}

  // `job` as it was claimed. An end that the storage refuses now waits for TryAgain.
  void GiveUp(const JobRecord& job, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether an end was stored that had waited, or needs none any more.
  bool TryAgain() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct GivenUp {
    JobRecord job;
    absl::Status why;
  };

  // Errors: those of the storage, but that the lease is lost, which leaves nothing to end.
  absl::Status StoreEnd(const GivenUp& given_up) const;

  const AttemptEnvironment& environment_;
  absl::Mutex mutex_;
  std::list<GivenUp> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
