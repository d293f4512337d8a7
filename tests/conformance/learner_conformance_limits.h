// Conformance to limits: cancellation, stop, time, iterations.
#pragma once

#include <atomic>
#include <pthread.h>
#include <set>
#include <thread>

#include "absl/time/clock.h"

#include "core/base/errors.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {

inline double ClockSeconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// How a run is made to end early.
enum class Ending { kCancel, kStop, kTimeLimit };

// One run that is ended `seconds` of work after its beginning (of time, for a time limit).
struct EndedRun {
  absl::StatusOr<TrainingOutcome> outcome = absl::UnknownError("not run");
  double work_after = 0;  // processor time from the request to the end of the search
};

// Work is measured by the processor time of the training thread, so that a loaded machine does not
// matter.
template <typename Train>
EndedRun EndEarly(Ending ending, double seconds, const Train& train) {
  EndedRun run;
  RunSettings settings;
  settings.relative_gap = 1e-9;
  if (ending == Ending::kTimeLimit) {
    settings.max_time = absl::Seconds(seconds);
  }
  ConformanceObserver observer;
  double work_at_end = -1;  // of the search
  observer.on_verifying = [&] { work_at_end = ClockSeconds(CLOCK_THREAD_CPUTIME_ID); };
  std::atomic<bool> done = false;
  const absl::Time begin = absl::Now();
  std::thread worker([&] {
    run.outcome = train(settings, observer);
    if (work_at_end < 0) {
      work_at_end = ClockSeconds(CLOCK_THREAD_CPUTIME_ID);
    }
    done = true;
  });
  clockid_t clock = {};
  EXPECT_EQ(pthread_getcpuclockid(worker.native_handle(), &clock), 0);
  // The thread is joined below, so that its clock exists.
  const auto due = [&] {
    return ending == Ending::kTimeLimit ? absl::Now() - begin >= absl::Seconds(seconds)
                                        : ClockSeconds(clock) >= seconds;
  };
  while (!done && !due()) {
    std::this_thread::yield();
  }
  const double work_at_request = done ? kInfinity : ClockSeconds(clock);
  if (ending == Ending::kCancel) {
    settings.token.Cancel();
  } else if (ending == Ending::kStop) {
    observer.stop = true;
  }
  worker.join();
  run.work_after = work_at_end - work_at_request;
  return run;
}

TEST_P(LearnerConformance, SearchEndsWithinAQuarterSecondOfWork) {
  const TrainingProblem problem = Problem(4000, 20, {1, 2, 4, 8, 16, 32});
  for (const OptionValues& options : OptionVariants(entry())) {
    for (const Ending ending : {Ending::kCancel, Ending::kStop, Ending::kTimeLimit}) {
      for (const double seconds : {0.02, 0.1, 0.5}) {
        const EndedRun run =
            EndEarly(ending, seconds, [&](RunSettings settings, ConformanceObserver& observer) {
              settings.options = options;
              return Train(problem, settings, observer);
            });
        const std::string what = OptionText(options) + ", ending " +
                                 std::to_string(static_cast<int>(ending)) + " after " +
                                 std::to_string(seconds) + " s";
        EXPECT_LE(run.work_after, 0.25 * kSanitizerFactor) << what;
        if (run.outcome.ok()) {
          ExpectFinite(*run.outcome, what);
        } else {
          EXPECT_TRUE(ending == Ending::kCancel ? absl::IsCancelled(run.outcome.status())
                                                : GetReason(run.outcome.status()) == "NO_MODEL")
              << what << ": " << run.outcome.status();
        }
      }
    }
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

}  // namespace mercer
