#include "server/jobs/upkeep/storage_keeper.h"

#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/logger.h>

#include "core/base/process/background.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

JobRetention::JobRetention(JobRetentionDependencies dependencies, absl::Duration keep)
    : dependencies_(std::move(dependencies)),
      start_(dependencies_.clock->Now()),
      start_monotonic_(dependencies_.clock->Monotonic()),
      keep_(keep) {}

absl::Time JobRetention::Now() const {
  const absl::Duration passed = dependencies_.clock->Monotonic() - start_monotonic_;
  return std::min(dependencies_.clock->Now(), start_ + passed);
}

absl::StatusOr<int64_t> JobRetention::DeleteOldJobs(const std::function<bool()>& is_stopped) {
  const absl::Duration keep = keep_;
  if (keep <= absl::ZeroDuration()) {
    return 0;
  }
  FinishedJobs which;
  which.ended_before = Now() - keep;
  int64_t deleted = 0;
  while (!is_stopped || !is_stopped()) {
    MERCER_ASSIGN_OR_RETURN(const DeletedJobs batch,
                            dependencies_.storage->jobs().DeleteFinishedJobs(which));
    if (batch.ids.empty()) {
      break;
    }
    deleted += static_cast<int64_t>(batch.ids.size());
    // What fails is found by the next collection.
    DeleteReleasedBlobs(*dependencies_.storage, *dependencies_.blobs, batch.released_blobs)
        .IgnoreError();
  }
  if (deleted > 0 && dependencies_.log != nullptr) {
    dependencies_.log->info("deleted jobs={} that ended more than {} ago", deleted,
                            absl::FormatDuration(keep));
  }
  return deleted;
}

StorageKeeper::StorageKeeper(StorageKeeperOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

StorageKeeper::~StorageKeeper() {
  rest_.End();
  thread_.join();
}

void StorageKeeper::Run() {
  EnterBackground();
  const auto now = [] { return RealClock().Monotonic(); };
  struct Work {
    void (StorageKeeper::*run)();
    absl::Duration interval;
    absl::Duration next;
  };
  std::array<Work, 3> works = {{
      {&StorageKeeper::KeepReserve, options_.reserve_interval, now()},
      {&StorageKeeper::Collect, options_.collect_interval, now() + options_.collect_interval},
      {&StorageKeeper::DeleteOldJobs, options_.retention_interval, now()},
  }};
  absl::Duration next = now();
  while (!rest_.For(std::max(next - now(), absl::ZeroDuration()))) {
    next = absl::InfiniteDuration();
    for (Work& work : works) {
      if (now() >= work.next) {
        (this->*work.run)();
        work.next = now() + work.interval;
      }
      next = std::min(next, work.next);
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
}

void StorageKeeper::DeleteOldJobs() {
  if (options_.retention == nullptr) {
    return;
  }
  WarnOnce(old_jobs_stay_, "old jobs stay for now", RunSafely("deleting old jobs", [this] {
             return options_.retention
                 ->DeleteOldJobs([this] { return rest_.For(absl::ZeroDuration()); })
                 .status();
           }));
}

void StorageKeeper::KeepReserve() {
  if (options_.reserve == nullptr) {
    return;
  }
  WarnOnce(reserve_lacks_, "no reserve for deletions on a full disk",
           RunSafely("keeping the reserve", [this] { return options_.reserve->Refill(); }));
}

void StorageKeeper::WarnOnce(bool& told, const char* what, const absl::Status& status) const {
  if (options_.log != nullptr && !status.ok() && !told) {
    options_.log->warn("{}: {}", what, status.ToString());
  }
  told = !status.ok();
}

}  // namespace mercer::server
