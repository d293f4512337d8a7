// Forgets jobs that ended long ago, so that the database does not grow for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/process/live_value.h"
#include "server/blobs/blob_store.h"
#include "server/jobs/record/clock.h"
#include "server/storage/storage.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// All pointers outlive the object.
struct JobRetentionDependencies {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  const Clock* clock = nullptr;
  std::shared_ptr<spdlog::logger> log;  // may be null
};

// Thread-safe, but for DeleteOldJobs, which one thread calls.
class JobRetention {
 public:
  // `keep`: from a job's end to its deletion, >= 0; 0 stands for ever.
  JobRetention(JobRetentionDependencies dependencies, absl::Duration keep);

  void SetKeep(absl::Duration keep) { keep_ = keep; }

  // Deletes the jobs that have ended so long ago, in batches, until there are none left or `is_stopped` (may be empty) says
  // so between two batches. Answers their number. What an error or a crash leaves over is found by the next call.
  // A wall clock that is set forwards while the server runs deletes nothing too early: since the construction no more time
  // has passed than the monotonic clock says.
  absl::StatusOr<int64_t> DeleteOldJobs(const std::function<bool()>& is_stopped = {});

 private:
  absl::Time Now() const;

  const JobRetentionDependencies dependencies_;
  const absl::Time start_;
  const absl::Duration start_monotonic_;
  LiveValue<absl::Duration> keep_;
};

}  // namespace mercer::server
