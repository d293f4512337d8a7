#include "server/jobs/storage_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include <spdlog/logger.h>

#include "core/base/background.h"
#include "core/base/run_safely.h"
#include "server/jobs/blob_collector.h"

namespace mercer::server {

StorageKeeper::StorageKeeper(StorageKeeperOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

StorageKeeper::~StorageKeeper() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

bool StorageKeeper::stopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void StorageKeeper::Run() {
  EnterBackground();
  absl::Time next_collection = absl::Now() + options_.collect_interval;
  absl::Time next_look = absl::Now();
  while (true) {
    if (absl::Now() >= next_look) {
      KeepReserve();
      next_look = absl::Now() + options_.reserve_interval;
    }
    if (absl::Now() >= next_collection) {
      Collect();
      next_collection = absl::Now() + options_.collect_interval;
    }
    // By a duration, so that a clock that jumps delays nothing for long.
    const absl::Duration pause = std::min(
        {next_look - absl::Now(), next_collection - absl::Now(), options_.reserve_interval});
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), pause)) {
      return;
    }
  }
}

void StorageKeeper::Collect() {
  const absl::StatusOr<int64_t> deleted = RunSafely("collecting files that nothing names", [this] {
    return CollectUnreferencedBlobs(*options_.storage, *options_.blobs,
                                    [this] { return stopping(); });
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
