#include "server/jobs/pending_claim.h"

#include <utility>

#include "core/base/process/run_safely.h"

namespace mercer::server {

ClaimPointer PendingClaim::Begin(JobStore& jobs, ProgressHub& hub, ClaimRequest request) {
  auto claim = std::make_shared<PendingClaim>();
  request.written = [claim](const JobRecord& job) { claim->Tell(job); };
  jobs.ClaimJob(std::move(request), [claim, &hub](Result claimed) {
    const absl::Status told = RunSafely("telling of an attempt", [&] {
      if (claimed.ok() && claimed->has_value() && (*claimed)->last_event.has_value()) {
        hub.Publish((*claimed)->id, {*(*claimed)->last_event});
      }
      return absl::OkStatus();
    });
    told.IgnoreError();  // a watcher that was not told reads the log when the next event comes
    claim->Tell(std::move(claimed));
    absl::MutexLock lock(&claim->mutex_);
    claim->answered_ = true;
  });
  return claim;
}

PendingClaim::Result PendingClaim::WaitForJob() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &PendingClaim::IsTold));
  return *result_;
}

void PendingClaim::WaitForAnswer() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&answered_));
}

void PendingClaim::Tell(Result result) {
  absl::MutexLock lock(&mutex_);
  if (!result_.has_value()) {
    result_ = std::move(result);
  }
}

}  // namespace mercer::server
