// Jobs and their events in the API.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "mercer/v1/job.pb.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/records.h"

namespace mercer::server {

v1::JobState WriteJobState(JobState state);

// `attempts` may be empty: lists leave them out. Errors: kDataLoss.
absl::StatusOr<v1::Job> WriteJob(const JobRecord& record,
                                 const std::vector<AttemptRecord>& attempts);

// Without the error and the model of a terminal event: those are the job's.
v1::ProgressEvent WriteEvent(const JobEvent& event);
// Adds them.
void CompleteTerminalEvent(const JobRecord& record, v1::ProgressEvent* event);

}  // namespace mercer::server
