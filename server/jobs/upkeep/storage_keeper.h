// What a server does for its disk from time to time: collects blobs that nothing names, keeps the reserve for deletions,
// forgets old jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/process/live_value.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/disk_guard.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/record/steady_sleep.h"
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

// Forgets jobs that ended long ago, so that the database does not grow for ever. Thread-safe, but for DeleteOldJobs, which one thread
// calls.
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

// All pointers outlive the keeper.
struct StorageKeeperOptions {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  DiskReserve* reserve = nullptr;  // may be null
  absl::Duration collect_interval = absl::Hours(1);
  // What was stored so recently is left to the next collection, whoever has stored it.
  absl::Duration collect_grace = absl::Minutes(10);
  absl::Duration reserve_interval = absl::Seconds(10);
  JobRetention* retention = nullptr;                     // may be null
  absl::Duration retention_interval = absl::Minutes(1);  // the first look is at once
  std::shared_ptr<spdlog::logger> log;                   // may be null
};

// One thread, from the constructor to the destructor. The first collection comes after one interval: the start of the
// job system makes one as well.
class StorageKeeper {
 public:
  explicit StorageKeeper(StorageKeeperOptions options);
  // Ends after the blob that is being looked at, or the batch of jobs.
  ~StorageKeeper();
  StorageKeeper(const StorageKeeper&) = delete;
  StorageKeeper& operator=(const StorageKeeper&) = delete;

 private:
  void Run();
  void Collect();
  void KeepReserve();
  void DeleteOldJobs();
  // Unless the log says so already.
  void WarnOnce(bool& told, const char* what, const absl::Status& status) const;

  const StorageKeeperOptions options_;
  bool reserve_lacks_ = false;  // and the log says so already
  bool old_jobs_stay_ = false;  // likewise
  SteadySleep rest_;
  std::thread thread_;
};

}  // namespace mercer::server
