// Conformance to interruption within a step: whatever the place, the point is honest and nothing is
// lost. Places are counted, not timed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/training/model/point_encoding.h"
#include "core/training/run/verification.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {

// Steps from where `learner` is to its accuracy; everything that it leaves behind.
inline std::string FinishByHand(Learner& learner, const TrainingProblem& problem,
                                RunContext& context) {
  for (int step = 0; step < 5000; ++step) {
    const absl::StatusOr<StepReport> report = learner.Step(context, problem.relative_gap);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) {
      return "";
    }
    if (report->stop.has_value() ||
        (report->has_model && report->accuracy <= problem.relative_gap)) {
      break;
    }
  }
  const absl::StatusOr<TrainedPoint> point = learner.CurrentModel(context);
  EXPECT_TRUE(point.ok()) << point.status();
  if (!point.ok()) {
    return "";
  }
  ByteWriter writer;
  WritePoint(*point, writer);
  return std::move(writer).Take();
}

// A learner whose work was interrupted when it asked for the `polls`-th time; no learner when it
// was done before.
struct InterruptedLearner {
  std::unique_ptr<Learner> learner;
  bool had_model = false;  // a step before has said so
};
inline InterruptedLearner InterruptAt(const LearnerEntry& entry, const OptionValues& options,
                                      const TrainingProblem& problem, int64_t polls) {
  InterruptedLearner result{*entry.create(options)};
  Learner* const learner = result.learner.get();
  EXPECT_TRUE(learner->Start(problem, nullptr).ok());
  std::atomic<int64_t> asked = 0;
  const Interruption interruption(absl::InfiniteDuration(), [&] { return ++asked >= polls; });
  RunContext context;
  for (int step = 0; step < 5000; ++step) {
    const InterruptibleScope scope(context, interruption);
    const absl::StatusOr<StepReport> report = learner->Step(context, problem.relative_gap);
    if (!report.ok()) {
      EXPECT_TRUE(absl::IsCancelled(report.status()) && context.interrupted()) << report.status();
      return result;
    }
    result.had_model = report->has_model;
    if (report->stop.has_value() ||
        (report->has_model && report->accuracy <= problem.relative_gap)) {
      break;
    }
  }
  return {};
}

TEST_P(LearnerConformance, InterruptedStepLosesNothingAndItsPointIsHonest) {
  TrainingProblem problem = Problem(QuickRows(90), 4);
  problem.relative_gap = 1e-5;
  const auto next = [](int64_t polls) {
    return kSanitized ? 4 * polls : 1 + polls + (IsThorough() ? polls / 2 : polls);
  };
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    const absl::StatusOr<TrainingOutcome> exact =
        Train(problem, {.options = options, .relative_gap = problem.relative_gap});
    ASSERT_TRUE(exact.ok()) << exact.status();
    RunContext context;
    const std::unique_ptr<Learner> whole = *entry().create(options);
    ASSERT_TRUE(whole->Start(problem, nullptr).ok());
    const std::string straight = FinishByHand(*whole, problem, context);
    for (int64_t polls = 1; polls < (int64_t{1} << 40); polls = next(polls)) {
      SCOPED_TRACE(OptionText(options) + ", poll " + std::to_string(polls));
      const InterruptedLearner interrupted = InterruptAt(entry(), options, problem, polls);
      Learner* const learner = interrupted.learner.get();
      if (learner == nullptr) {
        break;
      }
      const absl::StatusOr<TrainedPoint> point = learner->CurrentModel(context);
      // The first step may be broken off before there is a model; one that was there does not go.
      ASSERT_TRUE(point.ok() ||
                  (!interrupted.had_model && absl::IsFailedPrecondition(point.status())))
          << point.status();
      if (point.ok()) {
        const absl::StatusOr<VerifiedFunction> verified =
            VerifyFunction(entry(), options, problem, point->function, point->witness, context);
        ASSERT_TRUE(verified.ok()) << verified.status();
        // The features that are listed at the end may have a smaller optimum than those that were
        // so far.
        if (verified->certificate.scope != CertificateScope::kListedFeatures) {
          EXPECT_LE(verified->certificate.dual,
                    exact->certificate.primal + Slack(exact->certificate.primal));
        }
        EXPECT_GE(verified->certificate.primal,
                  exact->certificate.dual - Slack(exact->certificate.dual));
      }
      const std::unique_ptr<Learner> restored = *entry().create(options);
      ASSERT_TRUE(restored->RestoreState(problem, learner->SaveState(), context).ok());
      EXPECT_EQ(FinishByHand(*restored, problem, context), straight) << "restored elsewhere";
      EXPECT_EQ(FinishByHand(*learner, problem, context), straight) << "gone on with";
    }
  }
}

}  // namespace mercer
