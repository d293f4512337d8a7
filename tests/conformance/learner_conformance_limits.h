// Conformance to limits: cancellation, stop, time, iterations, memory.
#pragma once

#include <atomic>
#include <fstream>
#include <malloc.h>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "absl/time/clock.h"

#include "core/base/errors.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSanitizerFactor = 10;
#else
inline constexpr double kSanitizerFactor = 1;
#endif

inline double ClockSeconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Work is measured by the processor time of the training thread, so that a loaded machine does not
// matter.
TEST_P(LearnerConformance, CancelledRunEndsWithinAQuarterSecondOfWork) {
  const TrainingProblem problem = Problem(2500, 20, {1, 2, 4, 8, 16, 32});
  for (const double cancel_after : {0.02, 0.1, 0.3, 0.8}) {
    RunSettings settings;
    settings.relative_gap = 1e-9;
    std::atomic<bool> done = false;
    absl::Status status;
    double work_at_end = 0;
    std::thread worker([&] {
      status = Train(problem, settings).status();
      work_at_end = ClockSeconds(CLOCK_THREAD_CPUTIME_ID);
      done = true;
    });
    clockid_t clock = {};
    ASSERT_EQ(pthread_getcpuclockid(worker.native_handle(), &clock), 0);
    // The thread is joined below, so that its clock exists; after its end the clock stands still.
    while (!done && ClockSeconds(clock) < cancel_after) {
      std::this_thread::yield();
    }
    const double work_at_cancel = done ? work_at_end : ClockSeconds(clock);
    settings.token.Cancel();
    worker.join();
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
    EXPECT_LE(work_at_end - work_at_cancel, 0.25 * kSanitizerFactor)
        << "cancelled after " << cancel_after << " s of work";
  }
}

TEST_P(LearnerConformance, CancelledBeforeItBeginsIsCancelled) {
  RunSettings settings;
  settings.token.Cancel();
  EXPECT_EQ(Train(Problem(30, 2), settings).status().code(), absl::StatusCode::kCancelled);
}

TEST_P(LearnerConformance, StopGivesTheBestModelSoFarWithItsCertificate) {
  ConformanceObserver observer;
  observer.stop_when_model = true;
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(Problem(120, 4), {.relative_gap = 1e-9}, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ExpectFinite(*outcome, "stopped");
  EXPECT_TRUE(observer.reports.back().has_model);
}

TEST_P(LearnerConformance, EveryNumberOfIterationsGivesAModelOrSaysThatThereIsNone) {
  const TrainingProblem problem = Problem(80, 3);
  double best_dual = -kInfinity;
  for (int64_t limit = 1; limit <= 12; ++limit) {
    const absl::StatusOr<TrainingOutcome> outcome =
        Train(problem, {.relative_gap = 1e-9, .max_iterations = limit});
    if (!outcome.ok()) {
      EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << outcome.status();
      EXPECT_EQ(best_dual, -kInfinity) << "there was a model after fewer iterations";
      continue;
    }
    ExpectFinite(*outcome, "limit of iterations");
    EXPECT_GE(outcome->certificate.dual, best_dual - 1e-9 * std::abs(best_dual))
        << "more iterations, a worse bound";
    best_dual = outcome->certificate.dual;
  }
}

TEST_P(LearnerConformance, TimeLimitGivesAModelOrSaysThatThereIsNone) {
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(Problem(120, 4), {.relative_gap = 1e-9, .max_time = absl::Nanoseconds(1)});
  if (outcome.ok()) {
    ExpectFinite(*outcome, "limit of time");
  } else {
    EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << outcome.status();
  }
}

TEST_P(LearnerConformance, MemoryEstimateIsAnUpperBound) {
  if (kSanitizerFactor > 1) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const TrainingProblem problem = Problem(1500, 10);
  ProblemShape shape;
  shape.rows = 1500;
  shape.columns = 10;
  shape.kernels = static_cast<Index>(problem.kernels.size());
  shape.sources = std::min<Index>(1, shape.kernels);
  shape.source_columns = shape.sources * shape.columns;
  const absl::StatusOr<size_t> estimate = entry().estimate_memory({}, shape);
  ASSERT_TRUE(estimate.ok()) << estimate.status();

  // A child process trains and reports by how much its resident memory grew at most.
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    malloc_trim(0);
    Index pages = 0;
    Index resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    const bool trained = Train(problem).ok();
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const int64_t grown = trained ? usage.ru_maxrss * 1024 - resident * sysconf(_SC_PAGESIZE) : -1;
    const bool written = write(channel[1], &grown, sizeof(grown)) == sizeof(grown);
    _exit(written ? 0 : 1);
  }
  int64_t grown = -1;
  ASSERT_EQ(read(channel[0], &grown, sizeof(grown)), static_cast<ssize_t>(sizeof(grown)));
  close(channel[0]);
  close(channel[1]);
  waitpid(child, nullptr, 0);
  constexpr int64_t kCodeAndStacks = 4 << 20;
  EXPECT_GE(grown, 0) << "training failed in the child";
  EXPECT_GE(static_cast<int64_t>(*estimate) + kCodeAndStacks, grown);
}

}  // namespace mercer
