// How many refusals of the door the log takes: whoever can connect could fill a disk with them.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/jobs/record/clock.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// Of refusals of one kind so many lines go to the log in a second, and afterwards one line with the number of the others.
// The two kinds do not take each other's room: a stranger who knocks without end does not hide what the holder of a token
// tries in vain. Thread-safe.
class RefusalLog {
 public:
  enum Kind : uint8_t { kStranger, kKnownCaller };
  static constexpr int64_t kLinesPerSecond = 20;

  // `log` may be null. `clock` outlives the object.
  explicit RefusalLog(std::shared_ptr<spdlog::logger> log, const Clock* clock = &RealClock());
  // Writes the lines that are due.
  ~RefusalLog();
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  // Whether a refusal of now gets a line of its own; else it is counted.
  bool Admit(Kind kind) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the line of seconds that are over. Call it about once a second.
  void Tick() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Second {
    absl::Duration begin = -absl::InfiniteDuration();  // on the monotonic clock
    int64_t lines = 0;
    int64_t suppressed = 0;
  };

  // Begins a new second when the last one is over.
  void Turn(Kind kind, absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The line about those that got none.
  void Tell(Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<spdlog::logger> log_;
  const Clock* const clock_;
  absl::Mutex mutex_;
  Second seconds_[2] ABSL_GUARDED_BY(mutex_);  // by Kind
};

}  // namespace mercer::server
