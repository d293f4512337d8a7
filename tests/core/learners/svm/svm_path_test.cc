// Values of C one after the other, as a path has them.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/svm/svm.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

// With steps of a few iterations.
const LearnerEntry& SvmEntry() {
  static const auto& entry = *[] {
    auto* sliced = new LearnerEntry(svm::Entry());
    sliced->create = [](const OptionValues& values) -> absl::StatusOr<std::unique_ptr<Learner>> {
      const absl::StatusOr<svm::SvmOptions> options = svm::SvmOptions::Fields().Parse(values);
      return svm::MakeLearner(options.value(), 40);
    };
    return sliced;
  }();
  return entry;
}

TrainingProblem ProblemOfPath(TargetKind kind, Index rows) {
  TrainingProblem problem = ToyProblem(kind, rows, 3, {0.5, 2.0});
  problem.kernel_sum = std::make_shared<KernelSumCell>();
  return problem;
}

// From the outcome of another C, if there is one.
TrainingOutcome TrainAt(const TrainingProblem& problem, double cost,
                        const TrainingOutcome* before = nullptr) {
  const OptionValues options = svm::SvmOptions::Fields().Values(svm::SvmOptions{.C = cost});
  const std::unique_ptr<Learner> learner = svm::MakeLearner({.C = cost});
  RunContext context;
  QuietObserver observer;
  RunLimits limits;
  limits.relative_gap = problem.relative_gap;
  const WarmStart warm_start{before != nullptr ? &before->point : nullptr, &problem};
  absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(SvmEntry(), options, *learner, problem, limits, {}, context, observer,
                  before != nullptr ? &warm_start : nullptr);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : TrainingOutcome();
}

// Up and down, on columns of doubles and of floats.
TEST(SvmPathTest, EveryValueIsSolvedAsFromZero) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    for (const Index rows : {150, 1100}) {
      TrainingProblem problem = ProblemOfPath(kind, rows);
      problem.relative_gap = 1e-6;
      TrainingOutcome before;
      bool first = true;
      for (const double cost : {0.01, 0.1, 0.2154, 3.0, 20.0, 0.5}) {
        TrainingOutcome warm = TrainAt(problem, cost, first ? nullptr : &before);
        TrainingProblem alone = problem;
        alone.kernel_sum = std::make_shared<KernelSumCell>();
        const TrainingOutcome cold = TrainAt(alone, cost);
        EXPECT_LE(warm.certificate.accuracy, problem.relative_gap);
        EXPECT_LE(cold.certificate.accuracy, problem.relative_gap);
        // Either one's bounds hold for the other.
        const double rounding = 1e-12 * cold.certificate.primal;
        EXPECT_GE(warm.certificate.primal, cold.certificate.dual - rounding) << cost;
        EXPECT_GE(cold.certificate.primal, warm.certificate.dual - rounding) << cost;
        before = std::move(warm);
        first = false;
      }
    }
  }
}

TEST(SvmPathTest, ColumnsAreHandedOnAndNoneAreKeptBeside) {
  TrainingProblem problem = ProblemOfPath(TargetKind::kClassification, 150);
  problem.relative_gap = 1e-6;
  TrainAt(problem, 1.0);
  const std::shared_ptr<const KernelSum> sum = problem.kernel_sum->Find(problem);
  ASSERT_NE(sum, nullptr);
  std::unique_ptr<SmoColumns> columns = sum->spare_columns->Take();
  ASSERT_NE(columns, nullptr);
  EXPECT_EQ(sum->spare_columns->Take(), nullptr);
  const SmoColumns* const handed = columns.get();
  sum->spare_columns->Leave(std::move(columns));
  RunContext context;
  std::unique_ptr<Learner> learner = svm::MakeLearner({.C = 2.0});
  ASSERT_EQ(learner->Start(problem, nullptr), absl::OkStatus());
  ASSERT_TRUE(learner->Step(context, 1e-6).ok());
  EXPECT_EQ(sum->spare_columns->Take(), nullptr) << "a solver has them";
  // A step that is cut short and a restored state go on with them.
  const std::string state = learner->SaveState();
  ASSERT_EQ(learner->RestoreState(problem, state, context), absl::OkStatus());
  EXPECT_EQ(sum->spare_columns->Take(), nullptr);
  learner = nullptr;
  EXPECT_EQ(sum->spare_columns->Take().get(), handed);
}

TrainingRecipe RecipeOfPath(ValidationKind validation) {
  TrainingRecipe recipe;
  recipe.learner = "svm";
  recipe.kernels = {OneKernel(1.0), OneKernel(3.0)};
  recipe.kind = TargetKind::kClassification;
  recipe.limits.relative_gap = 1e-6;
  recipe.validation.kind = validation;
  recipe.validation.folds = 2;
  recipe.path = OptionPath{"C", {0.1, 1.0, 2.154, 10.0}};
  recipe.path->keep_all = true;
  return recipe;
}

RecipeRun RunOf(const TrainingRecipe& recipe, const Dataset& data) {
  return {&SvmEntry(), &recipe, &data, "digest", "test-version"};
}

TEST(SvmPathTest, EveryCheckpointLeadsToTheSameBits) {
  for (const int classes : {2, 3}) {
    for (const ValidationKind validation : {ValidationKind::kHoldOut, ValidationKind::kFolds}) {
      const TrainingRecipe recipe = RecipeOfPath(validation);
      const Dataset data = ClassificationData(90, 2, classes, 3);
      ExpectSameBitsFromEveryCheckpoint(RunOf(recipe, data));
    }
  }
}

// More rows than a tile has, and float columns.
TEST(SvmPathTest, NeitherThreadsNorTheCacheChangeABit) {
  const TrainingRecipe recipe = RecipeOfPath(ValidationKind::kHoldOut);
  const Dataset data = ClassificationData(1400, 2, 2, 3);
  std::vector<std::string> found;
  for (const int threads : {1, 2, 3}) {
    for (const size_t capacity : {size_t{0}, size_t{64} << 20}) {
      RunContext context(CancellationToken(), threads, std::make_shared<SharedCache>(capacity));
      RecordingObserver observer;
      const absl::StatusOr<TrainedModel> trained =
          RunRecipe(RunOf(recipe, data), {}, context, observer);
      ASSERT_TRUE(trained.ok()) << trained.status();
      std::string& bits = found.emplace_back(SaveModel(trained->model));
      for (const auto& other : trained->others) {
        bits += other.model + other.witness;
      }
      EXPECT_EQ(trained->others.size(), 3U);
      EXPECT_EQ(bits, found.front()) << threads << " threads, " << capacity << " bytes";
    }
  }
}

}  // namespace
}  // namespace mercer
