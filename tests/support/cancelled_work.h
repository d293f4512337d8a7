// The processor time that work takes after it was cancelled.
#pragma once

#include <atomic>
#include <ctime>
#include <functional>
#include <thread>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/run_context.h"

namespace mercer {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kWorkFactor = 10;
#else
inline constexpr double kWorkFactor = 1;
#endif
inline constexpr double kMostWorkAfterCancel = 0.25 * kWorkFactor;  // seconds

// Of the whole process, so that a loaded machine does not matter.
inline double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds that `work` goes on for when it is cancelled after `seconds`; it has more to do than that.
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
  while (!ended && ProcessorSeconds() < begin + seconds * kWorkFactor) {
    absl::SleepFor(absl::Milliseconds(1));  // nobody tells how far it is
  }
  const double at_cancel = ProcessorSeconds();
  context.cancellation().Cancel();
  working.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << seconds << " s: " << status;
  return ProcessorSeconds() - at_cancel;
}

}  // namespace mercer
