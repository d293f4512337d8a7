// Conformance to limits: cancellation, stop, time, iterations.
#pragma once

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <set>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/training/run/verification.h"
#include "tests/conformance/learner_conformance.h"
#include "tests/support/cancelled_work.h"

namespace mercer {

inline double ClockSeconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// How a run is made to end early. A stop and a time limit end the search, a cancellation ends
// everything.
enum class Ending { kCancel, kStop, kTimeLimit };

struct EndedRun {
  absl::StatusOr<TrainingOutcome> outcome = absl::UnknownError("not run");
  // Processor time from the request to the end of what it ends; negative when that had ended
  // before.
  double work_after = 0;
};

// Whether the run had reached its end when it was asked to end.
inline bool EndedByItself(const ConformanceObserver& observer, const TrainingOutcome& outcome,
                          double relative_gap) {
  const double accuracy =
      std::max(outcome.certificate.accuracy, outcome.certificate.worst_accuracy);
  return (!observer.reports.empty() && observer.reports.back().stop.has_value()) ||
         (outcome.stop_reason == StopReason::kConverged && accuracy <= relative_gap);
}

// One run that is ended after `seconds` of work since its beginning (of time, for a time limit).
// Work is measured by the processor time of the training thread, so that a loaded machine does not
// matter.
template <typename Train>
EndedRun EndOnce(Ending ending, double seconds, const Train& train) {
  EndedRun run;
  RunSettings settings;
  settings.relative_gap = 1e-9;
  if (ending == Ending::kTimeLimit) {
    settings.max_time = absl::Seconds(seconds);
  }
  ConformanceObserver observer;
  std::atomic<double> work_at_verification = kInfinity;
  observer.on_verifying = [&] { work_at_verification = ClockSeconds(CLOCK_THREAD_CPUTIME_ID); };
  double work_at_end = 0;
  std::atomic<bool> done = false;
  const absl::Time begin = absl::Now();
  std::thread worker([&] {
    run.outcome = train(settings, observer);
    work_at_end = ClockSeconds(CLOCK_THREAD_CPUTIME_ID);
    done = true;
  });
  clockid_t clock = {};
  EXPECT_EQ(pthread_getcpuclockid(worker.native_handle(), &clock), 0);
  const auto due = [&] {
    if (ending == Ending::kTimeLimit) {
      return absl::Now() - begin >= absl::Seconds(seconds);
    }
    return ClockSeconds(clock) >= seconds;
  };
  while (!done && !due()) {
    absl::SleepFor(absl::Microseconds(100));  // the other processors have tests of their own
  }
  const bool ends_search = ending == Ending::kStop || ending == Ending::kTimeLimit;
  if (ending == Ending::kStop) {
    observer.stop = true;
  } else if (!ends_search) {
    settings.token.Cancel();
  }
  const double work_so_far = ClockSeconds(clock);  // of no meaning once the thread has ended
  const double work_at_request = done ? kInfinity : work_so_far;
  worker.join();
  const double work_at_search_end = std::min(work_at_verification.load(), work_at_end);
  run.work_after = (ends_search ? work_at_search_end : work_at_end) - work_at_request;
  return run;
}

// The same, tried again up to twice where it works too long: a processor that others take away for a while counts as work.
template <typename Train>
EndedRun EndEarly(Ending ending, double seconds, const Train& train) {
  EndedRun run = EndOnce(ending, seconds, train);
  for (int again = 0; again < 2 && run.work_after > kMostWorkAfterCancel; ++again) {
    run = EndOnce(ending, seconds, train);
  }
  return run;
}

inline void ExpectEndedInTime(const EndedRun& run, Ending ending, const std::string& what) {
  EXPECT_LE(run.work_after, kMostWorkAfterCancel) << what;
  if (run.outcome.ok()) {
    LearnerConformance::ExpectFinite(*run.outcome, what);
    return;
  }
  const absl::Status& status = run.outcome.status();
  EXPECT_TRUE(ending == Ending::kCancel ? absl::IsCancelled(status)
                                        : GetReason(status) == "NO_MODEL")
      << what << ": " << status;
}

// Sanitized, all takes about ten times as long.
inline constexpr Index kRowsToEnd = kSanitized ? 1200 : 4000;

struct EarlyEnd {
  Ending ending;
  double seconds;
};

// What ends the search alone is followed by a whole verification, so that few moments have to do.
inline std::vector<EarlyEnd> EarlyEnds(bool of_defaults) {
  if (kSanitized) {
    return {{Ending::kCancel, 0.1}, {Ending::kStop, 0.1}, {Ending::kTimeLimit, 0.3}};
  }
  if (of_defaults) {
    return {{Ending::kCancel, 0.02},
            {Ending::kCancel, 0.1},
            {Ending::kCancel, 0.5},
            {Ending::kStop, 0.1},
            {Ending::kTimeLimit, 0.3}};
  }
  return {{Ending::kCancel, 0.05}, {Ending::kCancel, 0.3}, {Ending::kStop, 0.1}};
}

TEST_P(LearnerConformance, RunEndsWithinAQuarterSecondOfWork) {
  const TrainingProblem problem = Problem(kRowsToEnd, 25, {1, 2, 4, 8, 16, 32});
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    for (const auto& [ending, seconds] :
         EarlyEnds(options == OptionVariants(entry(), kind()).front())) {
      const EndedRun run =
          EndEarly(ending, seconds, [&](RunSettings settings, ConformanceObserver& observer) {
            settings.options = options;
            return Train(problem, settings, observer);
          });
      ExpectEndedInTime(run, ending,
                        OptionText(options) + ", ending " +
                            std::to_string(static_cast<int>(ending)) + " after " +
                            std::to_string(seconds) + " s");
    }
  }
}

// Options under which a step has more to do than by default.
inline OptionValues WithManyLandmarks(const LearnerEntry& entry, OptionValues options) {
  constexpr int64_t kLandmarks = kSanitized ? 200 : 1500;
  const bool has_landmarks =
      std::any_of(entry.fields.begin(), entry.fields.end(),
                  [](const OptionField& field) { return field.name == "landmarks"; });
  if (has_landmarks) {
    options["landmarks"] = kLandmarks;
  }
  return options;
}

// The seconds of work after the request to end, of runs under all options that are ended at random
// moments, ascending.
template <typename Train>
std::vector<double> WorkAfterRandomEndings(const LearnerEntry& entry, TargetKind kind,
                                           const Train& train) {
  constexpr double kLatest = 0.6;
  RandomStream random(1, "random endings", kind == TargetKind::kRegression ? 1 : 0);
  std::vector<double> work;
  for (const OptionValues& options : ToRun(OptionVariants(entry, kind))) {
    for (const Ending ending : {Ending::kCancel, Ending::kStop}) {
      const double seconds = kLatest * random.Uniform();
      const EndedRun run =
          EndEarly(ending, seconds, [&](RunSettings settings, ConformanceObserver& observer) {
            settings.options = WithManyLandmarks(entry, options);
            // What a stop leaves is not verified here, for lack of time.
            observer.on_verifying = [&, told = observer.on_verifying] {
              told();
              settings.token.Cancel();
            };
            return train(settings, observer);
          });
      EXPECT_LE(run.work_after, 2 * kMostWorkAfterCancel)
          << OptionText(options) << ", ending " << static_cast<int>(ending) << " after " << seconds;
      if (std::isfinite(run.work_after)) {  // it had not ended by itself
        work.push_back(run.work_after);
      }
    }
  }
  std::sort(work.begin(), work.end());
  return work;
}

TEST_P(LearnerConformance, RandomEndingsComeWithinAQuarterSecondOfWork) {
  if (kSanitized) {
    GTEST_SKIP() << "with sanitizers all takes about ten times as long";
  }
  // Features take memory in proportion to the rows.
  const Index rows = entry().feature_numbers != nullptr ? 20'000 : 5000;
  const TrainingProblem problem = Problem(rows, 25, {1, 2, 4, 8, 16, 32});
  const std::vector<double> work = WorkAfterRandomEndings(
      entry(), kind(), [&](const RunSettings& settings, ConformanceObserver& observer) {
        return Train(problem, settings, observer);
      });
  ASSERT_FALSE(work.empty());
  // The 99th percentile.
  const size_t place = (99 * work.size() + 99) / 100 - 1;
  EXPECT_LE(work[place], kMostWorkAfterCancel) << "the longest " << work.back();
}

TEST_P(LearnerConformance, CancelledVerificationEndsWithinAQuarterSecondOfWork) {
  const TrainingProblem problem = Problem(kRowsToEnd, 20, {1, 2, 4, 8, 16, 32});
  ConformanceObserver observer;
  observer.stop_when_model = true;
  const absl::StatusOr<TrainingOutcome> trained = Train(problem, {.relative_gap = 1e-9}, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto verify = [&](RunContext& context) {
    return VerifyFunction(entry(), {}, problem, trained->point.function, trained->point.witness,
                          context)
        .status();
  };
  const double whole = WholeWork(verify);
  for (const double part : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9}) {
    // What ends so soon after may have ended before it hears of it.
    if ((1 - part) * whole > 0.02) {
      EXPECT_LE(WorkAfterCancel(part * whole, verify), kMostWorkAfterCancel)
          << part << " of " << whole << " s";
    }
  }
}

TEST_P(LearnerConformance, CancelledWhenItsVerificationBeginsIsCancelled) {
  RunSettings settings;
  ConformanceObserver observer;
  observer.on_verifying = [&] { settings.token.Cancel(); };
  EXPECT_EQ(Train(Problem(120, 4), settings, observer).status().code(),
            absl::StatusCode::kCancelled);
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
  EXPECT_EQ(std::count_if(observer.reports.begin(), observer.reports.end(),
                          [](const StepReport& report) { return report.has_model; }),
            1)
      << "steps after the stop";
  EXPECT_TRUE(outcome->stop_reason == StopReason::kStopRequested ||
              EndedByItself(observer, *outcome, 1e-9))
      << StopReasonName(outcome->stop_reason);
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
    // With more features listed the optimum that is bounded falls.
    if (outcome->certificate.scope != CertificateScope::kListedFeatures) {
      EXPECT_GE(outcome->certificate.dual, best_dual - 1e-9 * std::abs(best_dual))
          << "more iterations, a worse bound";
    }
    best_dual = outcome->certificate.dual;
  }
}

TEST_P(LearnerConformance, TimeLimitGivesAModelOrSaysThatThereIsNone) {
  ConformanceObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome =
      Train(Problem(120, 4), {.relative_gap = 1e-9, .max_time = absl::Nanoseconds(1)}, observer);
  if (outcome.ok()) {
    ExpectFinite(*outcome, "limit of time");
    EXPECT_TRUE(outcome->stop_reason == StopReason::kTimeLimit ||
                EndedByItself(observer, *outcome, 1e-9))
        << StopReasonName(outcome->stop_reason);
  } else {
    EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << outcome.status();
    EXPECT_EQ(
        GetErrorMetadata(outcome.status()),
        (ErrorMetadata{{"stop_reason", std::string(StopReasonName(StopReason::kTimeLimit))}}));
  }
  EXPECT_LE(observer.reports.size(), 1U) << "steps after the limit";
}

TEST_P(LearnerConformance, EvenWithoutAnyTimeThereIsAConstantModelWhereOneIsAskedFor) {
  ConformanceObserver observer;
  const absl::StatusOr<TrainingOutcome> outcome = Train(
      Problem(120, 4),
      {.relative_gap = 1e-9, .max_time = absl::Nanoseconds(1), .constant_if_none = true}, observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ExpectFinite(*outcome, "no time");
}

// It is made once a stop or a limit of time has ended the run.
TEST_P(LearnerConformance, ConstantModelTakesAtMostAQuarterSecondOfWork) {
  const Index rows = entry().feature_numbers != nullptr ? 60'000 : 5000;
  const TrainingProblem problem = Problem(kSanitized ? rows / 10 : rows, 25);
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    const double work = LeastWork([&] {
      const absl::StatusOr<std::unique_ptr<Learner>> learner = entry().create(options);
      if (!learner.ok() || !(*learner)->Start(problem, nullptr).ok()) {
        ADD_FAILURE() << learner.status();
        return kInfinity;
      }
      return WholeWork([&](RunContext& context) {
        const absl::StatusOr<TrainedPoint> point = (*learner)->ConstantModel(context);
        return absl::IsFailedPrecondition(point.status()) ? absl::OkStatus() : point.status();
      });
    });
    EXPECT_LE(work, kMostWorkAfterCancel) << OptionText(options);
  }
}

}  // namespace mercer
