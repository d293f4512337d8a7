#include "server/jobs/upkeep/storage_keeper.h"

#include <algorithm>
#include <utility>

#include <spdlog/logger.h>

#include "core/base/process/background.h"
#include "core/base/process/run_safely.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

StorageKeeper::StorageKeeper(StorageKeeperOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

StorageKeeper::~StorageKeeper() {
  rest_.End();
  thread_.join();
}

void StorageKeeper::Run() {
  EnterBackground();
  const auto now = [] { return RealClock().Monotonic(); };
  absl::Duration next_collection = now() + options_.collect_interval;
  absl::Duration next_look = now();
  absl::Duration next_deletion = now();
  while (true) {
    if (now() >= next_look) {
      KeepReserve();
      next_look = now() + options_.reserve_interval;
    }
    if (now() >= next_collection) {
      Collect();
      next_collection = now() + options_.collect_interval;
    }
    if (now() >= next_deletion) {
      DeleteOldJobs();
      next_deletion = now() + options_.retention_interval;
    }
    const absl::Duration pause = std::min({next_look, next_collection, next_deletion}) - now();
    if (rest_.For(std::max(pause, absl::ZeroDuration()))) {
      return;
    }
  }
}

void StorageKeeper::Collect() {
  const absl::StatusOr<int64_t> deleted = RunSafely("collecting files that nothing names", [this] {
    return CollectUnreferencedBlobs(*options_.storage, *options_.blobs, options_.collect_grace,
                                    [this] { return rest_.For(absl::ZeroDuration()); });
  });
  if (options_.log != nullptr && !deleted.ok()) {
    options_.log->warn("cannot collect files that nothing names: {}", deleted.status().ToString());
  } else if (options_.log != nullptr && *deleted > 0) {
    options_.log->info("collected files={} that nothing names", *deleted);
  }
  if (options_.on_collected) {
    options_.on_collected(deleted);
  }
}

void StorageKeeper::DeleteOldJobs() {
  if (options_.retention == nullptr) {
    return;
  }
  const absl::Status deleted = RunSafely("deleting old jobs", [this] {
    return options_.retention->DeleteOldJobs([this] { return rest_.For(absl::ZeroDuration()); })
        .status();
  });
  if (options_.log != nullptr && !deleted.ok() && !old_jobs_stay_) {
    options_.log->warn("old jobs stay for now: {}", deleted.ToString());
  }
  old_jobs_stay_ = !deleted.ok();
}

void StorageKeeper::KeepReserve() {
  if (options_.reserve == nullptr) {
    return;
  }
  const absl::Status kept =
      RunSafely("keeping the reserve", [this] { return options_.reserve->Refill(); });
  if (options_.log != nullptr && !kept.ok() && !reserve_lacks_) {
    options_.log->warn("no reserve for deletions on a full disk: {}", kept.ToString());
  }
  reserve_lacks_ = !kept.ok();
}

}  // namespace mercer::server
