// The processor time that work takes, and that it takes after it was cancelled.
#pragma once

#include <atomic>
#include <ctime>
#include <functional>
#include <thread>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/process/run_context.h"
#include "tests/support/sanitized.h"

namespace mercer {

inline constexpr double kMostWorkAfterCancel = kSanitized ? 2.5 : 0.25;  // seconds

// Of the whole process, so that a loaded machine does not matter.
inline double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of work that nobody cancels: the machine decides at which moments it can be cancelled.
inline double WholeWork(const std::function<absl::Status(RunContext&)>& work) {
  RunContext context;
  const double begin = ProcessorSeconds();
  const absl::Status status = work(context);
  EXPECT_TRUE(status.ok()) << status;
  return ProcessorSeconds() - begin;
}

// Seconds that `work` goes on for when it is cancelled after `seconds`. Work that ends before, because it is done faster than it was
// the first time, cannot be cancelled. With sanitizers tests have so little work that it may be over soon after, too.
inline double WorkAfterCancel(double seconds,
                              const std::function<absl::Status(RunContext&)>& work) {
  RunContext context;
  absl::Status status;
  const double begin = ProcessorSeconds();
  std::atomic<bool> ended = false;
  std::thread working([&] {
    status = work(context);
    ended = true;
  });
  while (!ended && ProcessorSeconds() < begin + seconds) {
    absl::SleepFor(absl::Milliseconds(1));  // nobody tells how far it is
  }
  const bool ended_before = ended;
  const double at_cancel = ProcessorSeconds();
  context.cancellation().Cancel();
  working.join();
  EXPECT_TRUE(absl::IsCancelled(status) || ((ended_before || kSanitized) && status.ok()))
      << seconds << " s: " << status;
  return ProcessorSeconds() - at_cancel;
}

// Work that takes longer than kMostWorkAfterCancel ends within it after a cancellation.
inline void ExpectEndsSoon(const std::function<absl::Status(RunContext&)>& work) {
  const double whole = WholeWork(work);
  if (whole < kMostWorkAfterCancel) {
    return;  // it may end by itself
  }
  for (const double part : {0.05, 0.3, 0.6}) {
    EXPECT_LE(WorkAfterCancel(part * whole, work), kMostWorkAfterCancel) << part << " of " << whole;
  }
}

// The same, and work that was cancelled before says so.
inline void ExpectIsPolled(const std::function<absl::Status(RunContext&)>& work) {
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  EXPECT_TRUE(absl::IsCancelled(work(cancelled)));
  ExpectEndsSoon(work);
}

}  // namespace mercer
