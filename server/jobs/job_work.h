// What is done in an attempt, by the kind of its job.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/blobs/blob_store.h"
#include "server/storage/job_store.h"

namespace mercer::server {

// What work that has succeeded leaves for the attempt's end.
struct WorkOutcome {
  std::vector<NewVersion> versions;      // of a training; the last is the best
  std::optional<DatasetRecord> dataset;  // a new one
  int64_t max_stored_bytes = 0;          // as in AttemptEnd
  std::string result;
  std::vector<PinnedBlob> blobs;  // that they name; not collected while they are here
};

// One object for one attempt.
class JobWork {
 public:
  virtual ~JobWork() = default;
  // Called once, by a worker. Errors: kCancelled soon after the attempt is interrupted; reason NO_MODEL when a stop came and there
  // is nothing to keep; all others fail the job, or are a reason to try again (retry_policy.h).
  virtual absl::StatusOr<WorkOutcome> Run() = 0;
};

class AttemptFrame;  // attempt_frame.h
// The frame outlives the work.
using JobWorkMaker = std::function<std::unique_ptr<JobWork>(AttemptFrame& frame)>;

// Plan, data, checkpoint, training, model.
std::unique_ptr<JobWork> MakeTrainingWork(AttemptFrame& frame);

}  // namespace mercer::server
