// What a server does for its disk from time to time: collects blobs that nothing names, keeps the reserve for deletions,
// forgets old jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/blobs/blob_store.h"
#include "server/blobs/disk_reserve.h"
#include "server/jobs/record/steady_sleep.h"
#include "server/jobs/upkeep/job_retention.h"
#include "server/storage/storage.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

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
  std::function<void(const absl::StatusOr<int64_t>&)> on_collected =
      {};  // told of every collection; may be empty
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

  const StorageKeeperOptions options_;
  bool reserve_lacks_ = false;  // and the log says so already
  bool old_jobs_stay_ = false;  // likewise
  SteadySleep rest_;
  std::thread thread_;
};

}  // namespace mercer::server
