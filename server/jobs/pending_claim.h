// A claim whose worker begins before the disk has it.
#pragma once

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/progress_hub.h"
#include "server/storage/job_store.h"

namespace mercer::server {

class PendingClaim;
using ClaimPointer = std::shared_ptr<PendingClaim>;

// Thread-safe.
class PendingClaim {
 public:
  using Result = absl::StatusOr<std::optional<JobRecord>>;

  // Claims, and shows the job's event once the disk has it. Both must outlive the answer.
  static ClaimPointer Begin(JobStore& jobs, ProgressHub& hub, ClaimRequest request);

  // The job as soon as its claim is written (ClaimRequest::written); otherwise what JobStore answers.
  Result WaitForJob() ABSL_LOCKS_EXCLUDED(mutex_);
  // Until the disk has the claim, and its event is shown.
  void WaitForAnswer() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The first result counts.
  void Tell(Result result) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsTold() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return result_.has_value(); }

  absl::Mutex mutex_;
  std::optional<Result> result_ ABSL_GUARDED_BY(mutex_);
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::server
