#include "server/rpc/refusal_log.h"

#include <utility>

#include <spdlog/logger.h>

namespace mercer::server {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

}  // namespace

RefusalLog::RefusalLog(std::shared_ptr<spdlog::logger> log, const Clock* clock)
    : log_(std::move(log)), clock_(clock) {}

RefusalLog::~RefusalLog() {
  absl::MutexLock lock(&mutex_);
  Tell(kStranger);
  Tell(kKnownCaller);
}

bool RefusalLog::Admit(Kind kind) {
  absl::MutexLock lock(&mutex_);
  Turn(kind, clock_->Monotonic());
  Second& second = seconds_[kind];
  const bool admitted = second.lines < kLinesPerSecond;
  ++(admitted ? second.lines : second.suppressed);
  return admitted;
}

void RefusalLog::Tick() {
  absl::MutexLock lock(&mutex_);
  const absl::Duration now = clock_->Monotonic();
  Turn(kStranger, now);
  Turn(kKnownCaller, now);
}

void RefusalLog::Turn(Kind kind, absl::Duration now) {
  Second& second = seconds_[kind];
  if (now - second.begin < kSecond) {
    return;
  }
  Tell(kind);
  second = {now, 0, 0};
}

void RefusalLog::Tell(Kind kind) {
  const int64_t suppressed = seconds_[kind].suppressed;
  if (suppressed > 0 && log_ != nullptr) {
    log_->warn("refused further calls={} of {} without a line each", suppressed,
               kind == kStranger ? "strangers" : "known callers");
  }
}

}  // namespace mercer::server
