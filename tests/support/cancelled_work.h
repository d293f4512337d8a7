// The processor time that work takes, and that it takes after it was cancelled.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/process/run_context.h"
#include "tests/support/processor_seconds.h"
#include "tests/support/sanitized.h"

namespace mercer {

inline constexpr double kMostWorkAfterCancel = kSanitized ? 2.5 : 0.25;  // seconds

// The least that `measure` says in up to three attempts, which end once it is little enough: what other work on the machine, or a host
// that takes processors away, adds to it differs from one to the next.
inline double LeastWork(const std::function<double()>& measure) {
  double least = measure();
  for (int attempt = 1; attempt < 3 && least > kMostWorkAfterCancel; ++attempt) {
    least = std::min(least, measure());
  }
  return least;
}

// Of work that nobody cancels: the machine decides at which moments it can be cancelled.
inline double WholeWork(const std::function<absl::Status(RunContext&)>& work) {
  RunContext context;
  const double begin = ProcessorSeconds();
  const absl::Status status = work(context);
  EXPECT_TRUE(status.ok()) << status;
  return ProcessorSeconds() - begin;
}

// Seconds that `work` goes on for when it is cancelled after `seconds`. Work that takes less than the first time, since the machine is
// faster now, may be over before that, or on its last stretch, where it need not ask again. With sanitizers tests have so little work
// that nearly all of it may be the last stretch.
inline double WorkAfterCancelOnce(double seconds,
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
  const double at_cancel = ProcessorSeconds();
  context.cancellation().Cancel();
  working.join();
  const double after = ProcessorSeconds() - at_cancel;
  const bool in_last_stretch = kSanitized || after < 0.5 * (at_cancel - begin);
  EXPECT_TRUE(absl::IsCancelled(status) || (in_last_stretch && status.ok()))
      << seconds << " s: " << status << " after " << after << " s";
  return after;
}

inline double WorkAfterCancel(double seconds,
                              const std::function<absl::Status(RunContext&)>& work) {
  return LeastWork([&] { return WorkAfterCancelOnce(seconds, work); });
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
