// The machine without small weights, which a run that has converged tries at its end.
#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/training/model/point_encoding.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kTarget = 1e-3;

// Mirror descent leaves small weights to be taken out.
OptionValues MirrorDescent() {
  return {{"C", 50.0}, {"method", std::string("mirror_descent")}, {"weight_threshold", 1e-2}};
}

TrainingProblem SomeProblem() {
  const RandomKernels given = MakeRandomKernels(40, 3, {0.25, 1, 4, 16}, 7);
  TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
  problem.relative_gap = kTarget;
  return problem;
}

std::unique_ptr<Learner> Started(const TrainingProblem& problem, const OptionValues& options) {
  std::unique_ptr<Learner> learner = *Entry().create(options);
  EXPECT_TRUE(learner->Start(problem, nullptr).ok());
  return learner;
}

bool IsOver(const StepReport& report, double target) {
  return report.stop.has_value() || report.accuracy <= target;
}

// The gap is small enough, and the run goes on nevertheless.
bool IsTrying(const StepReport& report, double target) {
  return !IsOver(report, target) && report.primal - report.dual <= target * report.primal;
}

StepReport MustStep(Learner& learner, double target) {
  RunContext context;
  const absl::StatusOr<StepReport> report = learner.Step(context, target);
  EXPECT_TRUE(report.ok()) << report.status();
  StepReport over;
  over.accuracy = 0;
  return report.ok() ? *report : over;
}

StepReport Finish(Learner& learner, double target) {
  StepReport report = MustStep(learner, target);
  while (!IsOver(report, target)) {
    report = MustStep(learner, target);
  }
  return report;
}

TrainedPoint ModelOf(const Learner& learner) {
  RunContext context;
  const absl::StatusOr<TrainedPoint> point = learner.CurrentModel(context);
  EXPECT_TRUE(point.ok()) << point.status();
  return point.ok() ? *point : TrainedPoint();
}

std::string BytesOf(const Learner& learner) {
  ByteWriter writer;
  WritePoint(ModelOf(learner), writer);
  return std::move(writer).Take();
}

Index NumSelected(const Learner& learner) {
  return (ModelOf(learner).summary.kernel_weights.array() > 0).count();
}

void StepUntilTrial(Learner& learner, double target) {
  StepReport report = MustStep(learner, target);
  while (!IsTrying(report, target)) {
    ASSERT_FALSE(IsOver(report, target)) << "there was no trial";
    report = MustStep(learner, target);
  }
}

TEST(MixedNormTrialTest, PutsBackWhatWasBefore) {
  const TrainingProblem problem = SomeProblem();
  const std::unique_ptr<Learner> learner = Started(problem, MirrorDescent());
  ASSERT_NO_FATAL_FAILURE(StepUntilTrial(*learner, kTarget));
  EXPECT_EQ(NumSelected(*learner), 12) << "the model is that of before, until the trial is over";
  const StepReport report = Finish(*learner, kTarget);
  EXPECT_LT(NumSelected(*learner), 12);
  EXPECT_EQ(report.active_kernels, 12) << "the run is where it was";
  // A smaller gap is reached by all kernels, as if there had been no trial.
  OptionValues without = MirrorDescent();
  without["weight_threshold"] = 0.0;
  const std::unique_ptr<Learner> other = Started(problem, without);
  Finish(*other, kTarget);
  for (Learner* each : {learner.get(), other.get()}) {
    EXPECT_LE(Finish(*each, 0.1 * kTarget).accuracy, 0.1 * kTarget);
  }
  EXPECT_EQ(NumSelected(*other), 12);
}

TEST(MixedNormTrialTest, IsResumedWithTheSameBits) {
  const TrainingProblem problem = SomeProblem();
  const std::unique_ptr<Learner> whole = Started(problem, MirrorDescent());
  ASSERT_NO_FATAL_FAILURE(StepUntilTrial(*whole, kTarget));
  const std::string in_trial = whole->SaveState();
  Finish(*whole, kTarget);
  const std::string straight = BytesOf(*whole);
  int interruptions = 0;
  for (int64_t polls = 1;; polls += 1 + polls / 4) {
    std::unique_ptr<Learner> learner = *Entry().create(MirrorDescent());
    RunContext context;
    ASSERT_TRUE(learner->RestoreState(problem, in_trial, context).ok());
    std::atomic<int64_t> asked = 0;
    const Interruption interruption(absl::InfiniteDuration(), [&] { return ++asked >= polls; });
    absl::StatusOr<StepReport> report = StepReport();
    {
      const InterruptibleScope scope(context, interruption);
      report = learner->Step(context, kTarget);
    }
    if (report.ok()) {
      break;
    }
    ++interruptions;
    ASSERT_TRUE(absl::IsCancelled(report.status())) << report.status();
    EXPECT_EQ(NumSelected(*learner), 12);
    std::unique_ptr<Learner> restored = *Entry().create(MirrorDescent());
    ASSERT_TRUE(restored->RestoreState(problem, learner->SaveState(), context).ok());
    for (Learner* each : {learner.get(), restored.get()}) {
      Finish(*each, kTarget);
      EXPECT_EQ(BytesOf(*each), straight) << "interrupted at poll " << polls;
    }
  }
  EXPECT_GE(interruptions, 2);
}

// So many kernels are taken out that what is left may not do: the gap holds either way.
TEST(MixedNormTrialTest, LargeThresholdsKeepTheGap) {
  for (const double threshold : {0.02, 0.05, 0.1}) {
    for (const double gap : {1e-1, 1e-2, 1e-3, 1e-4}) {
      OptionValues options = MirrorDescent();
      options["weight_threshold"] = threshold;
      const Fit fit = MustTrain(SomeProblem(), options, gap);
      EXPECT_EQ(fit.stop_reason, StopReason::kConverged);
      EXPECT_LE(fit.certificate.accuracy, gap) << threshold;
    }
  }
}

TEST(MixedNormTrialTest, CountsAsAMachine) {
  const TrainingProblem problem = SomeProblem();
  OptionValues options = MirrorDescent();
  options["weight_threshold"] = 0.0;
  int64_t machines = 1;  // every step is one
  const std::unique_ptr<Learner> learner = Started(problem, options);
  for (StepReport report = MustStep(*learner, kTarget); !IsOver(report, kTarget);
       report = MustStep(*learner, kTarget)) {
    ++machines;
  }
  options = MirrorDescent();
  for (const int64_t more : {0, 1}) {
    options["max_svm_solves"] = machines + more;
    const Fit fit = MustTrain(problem, options, kTarget);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << more;
    EXPECT_EQ((fit.weights().array() > 0).count() < 12, more == 1);
  }
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
