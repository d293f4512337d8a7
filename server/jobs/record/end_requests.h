// What asks for the end of a job, with the events that tell of it.
#pragma once

#include <string>

#include "absl/time/time.h"

#include "core/base/status/errors.h"
#include "core/training/run/no_model.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/job_store.h"

namespace mercer::server {

inline CancelRequest MakeCancelRequest(const std::string& job_id, absl::Time now,
                                       const OwnerCheck& check) {
  return {job_id, now, StateEvent(JobState::kCancelling), StateEvent(JobState::kCancelled), check};
}

inline StopRequest MakeStopRequest(const std::string& job_id, absl::Time now,
                                   const OwnerCheck& check) {
  constexpr char kWhy[] = "STOP_REQUESTED";
  StopRequest request;
  request.job_id = job_id;
  request.now = now;
  request.queued = StateEvent(JobState::kQueued, kWhy);
  request.running = StateEvent(JobState::kRunning, kWhy);
  request.verifying = StateEvent(JobState::kVerifying, kWhy);
  const absl::Status no_model = NoModelError(StopReason::kStopRequested);
  request.cancelled = StateEvent(JobState::kCancelled, GetReason(no_model));
  request.no_model = EncodeError(no_model);
  request.check = check;
  return request;
}

}  // namespace mercer::server
