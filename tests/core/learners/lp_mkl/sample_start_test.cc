// Low rank on so many rows that a sample of them is solved first.
#include "core/learners/lp_mkl/sample_start.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/objectives/lp_weights.h"
#include "core/training/contract/loss_choice.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr Index kRows = 16'000;
constexpr Index kSampleRows = 4000;

TrainingProblem LargeProblem() {
  const Cloud cloud = OverlappingClouds(kRows, 3, 21);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0, 8.0});
  problem.relative_gap = 1e-4;
  problem.seed = 5;
  return problem;
}

// What the sample gives for hinge loss and p = 2.
std::optional<SampleStart> StartOf(const TrainingProblem& problem, double C) {
  const LpMklOptions options = *LpMklOptions::Fields().Parse(OnLandmarks(20, {{"C", C}}));
  RunContext context;
  const LpMklKernels kernels = *MakeLpMklKernels(options, problem, context);
  const std::shared_ptr<const Loss> loss =
      *MakeChosenLoss(options.loss, options.epsilon, problem.kind);
  const Vector targets = problem.tasks[0].targets.col(0);
  const SvmProblem svm{loss, targets, Vector::Constant(targets.size(), C)};
  const auto start = StartFromSample(*kernels.low_rank, LpBall(2), svm, {}, UniformWeights(3, 2),
                                     kSampleStartGap, problem.seed, context);
  EXPECT_TRUE(start.ok()) << start.status();
  return *start;
}

TEST(SampleStartTest, ASampleIsASmallPartOfTheRows) {
  EXPECT_EQ(SampleStartRows(kRows - 1, 20), 0);
  EXPECT_EQ(SampleStartRows(kRows, 20), kSampleRows);
  EXPECT_EQ(SampleStartRows(kRows, 250), kSampleRows);
  EXPECT_EQ(SampleStartRows(kRows, 251), 0);
  for (const Index rows : {100, 16'000, 100'000, 1'000'000}) {
    for (const Index rank : {1, 20, 300, 2000}) {
      EXPECT_LE(4 * SampleStartRows(rows, rank), rows);
    }
  }
}

TEST(SampleStartTest, WeightsOfTheSampleAreNearThoseOfAllRows) {
  const TrainingProblem problem = LargeProblem();
  const std::optional<SampleStart> start = StartOf(problem, 10);
  ASSERT_TRUE(start.has_value());
  const Vector weights = MustTrain(problem, OnLandmarks(20, {{"C", 10.0}}), 1e-4).weights();
  EXPECT_LE((start->weights - weights).norm(), (UniformWeights(3, 2) - weights).norm() / 4);
}

// The interior point method begins with all rows.
TEST(SampleStartTest, TheOptimumIsThatOfASolverWithoutASample) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    TrainingProblem problem = LargeProblem();
    problem.kind = kind;
    const OptionValues options = OnLandmarks(20, {{"C", 0.3}});
    OptionValues other = options;
    other["inner_solver"] = std::string("interior_point");
    const Certificate sampled = MustTrain(problem, options, 1e-3).certificate;
    const Certificate whole = MustTrain(problem, other, 1e-3).certificate;
    EXPECT_LE(std::max(sampled.accuracy, whole.accuracy), 1e-3);
    EXPECT_LE(sampled.dual, whole.primal * (1 + 1e-9));
    EXPECT_LE(whole.dual, sampled.primal * (1 + 1e-9));
  }
}

TEST(SampleStartTest, ASampleOfOneClassIsNone) {
  TrainingProblem problem = LargeProblem();
  const std::vector<Index> sample = DrawRows(kRows, kSampleRows, problem.seed, "sample-start");
  Matrix& targets = problem.tasks[0].targets;
  targets.setConstant(-1);
  Index positives = 0;
  for (Index i = 0; positives < 3; ++i) {
    if (!std::binary_search(sample.begin(), sample.end(), i)) {
      targets(i, 0) = 1;
      ++positives;
    }
  }
  EXPECT_FALSE(StartOf(problem, 1).has_value());
  MustTrain(problem, OnLandmarks(20, {{"C", 1.0}}), 1e-4);
}

TEST(SampleStartTest, RestoredRunsGoOnWithTheSameBits) {
  const TrainingProblem problem = LargeProblem();
  const OptionValues options = OnLandmarks(20, {{"C", 1.0}});
  const auto finish = [&](Learner& learner, std::vector<std::string>* states) {
    RunContext context;
    for (int step = 0; step < 1000; ++step) {
      if (states != nullptr) {
        states->push_back(learner.SaveState());
      }
      const absl::StatusOr<StepReport> report = learner.Step(context, problem.relative_gap);
      EXPECT_TRUE(report.ok()) << report.status();
      if (!report.ok() || report->stop.has_value() || report->accuracy <= problem.relative_gap) {
        break;
      }
    }
    return learner.SaveState();
  };
  const std::unique_ptr<Learner> whole = *Entry().create(options);
  ASSERT_TRUE(whole->Start(problem, nullptr).ok());
  std::vector<std::string> states;
  const std::string straight = finish(*whole, &states);
  ASSERT_GE(states.size(), 2U);
  for (const std::string& state : states) {
    RunContext context;
    const std::unique_ptr<Learner> restored = *Entry().create(options);
    ASSERT_TRUE(restored->RestoreState(problem, state, context).ok());
    EXPECT_EQ(finish(*restored, nullptr), straight);
  }
  // Cancelled in the sample, and at the start of the first machine of all rows.
  int64_t in_sample = 0;
  for (int64_t polls = 1; polls < 1'000'000; polls *= 3) {
    const CancellationToken token;
    std::atomic<int64_t> asked = 0;
    const Interruption counter(absl::InfiniteDuration(), [&] {
      if (++asked == polls) {
        token.Cancel();
      }
      return false;
    });
    RunContext context(token, 1, nullptr);
    std::string stage;
    context.set_stage_callback(
        [&](std::string_view reached, std::optional<double>) { stage = reached; });
    const std::unique_ptr<Learner> cancelled = *Entry().create(options);
    ASSERT_TRUE(cancelled->Start(problem, nullptr).ok());
    {
      const InterruptibleScope scope(context, counter);
      if (cancelled->Step(context, problem.relative_gap).ok()) {
        break;
      }
    }
    in_sample += stage == "sample" ? 1 : 0;
    EXPECT_EQ(cancelled->SaveState(), states.front()) << polls;
    EXPECT_EQ(finish(*cancelled, nullptr), straight) << polls;
  }
  EXPECT_GT(in_sample, 0);
}

// Sets of weights, loops and costs that a sample has to fit.
TEST(SampleStartTest, BoundsHoldForEveryNormAndLoopAndForRowsWithoutWeight) {
  TrainingProblem problem = LargeProblem();
  problem.tasks[0].costs.head(kRows / 2).setZero();
  problem.tasks[0].costs.tail(10).setConstant(20);
  std::vector<OptionValues> all;
  for (const double p : {1.0, 1.3, kInfinity}) {
    all.push_back(OnLandmarks(20, {{"C", 1.0}, {"p", p}}));
  }
  for (const std::string loop : {"over_relaxed", "alternation"}) {
    all.push_back(OnLandmarks(20, {{"C", 1.0}, {"outer_loop", loop}}));
  }
  for (const OptionValues& options : all) {
    const Certificate certificate = MustTrain(problem, options, 1e-3).certificate;
    EXPECT_LE(certificate.accuracy, 1e-3);
    EXPECT_LE(certificate.dual, certificate.primal * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
