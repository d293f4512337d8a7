#include "core/training/contract/kernel_sum.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/core/training/trained_models.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

TrainingProblem WithCell(const std::vector<double>& bandwidths = {0.5, 2.0}) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 60, 2, bandwidths);
  problem.kernel_sum = std::make_shared<KernelSumCell>();
  return problem;
}

std::shared_ptr<const KernelSum> SumOf(const TrainingProblem& problem) {
  RunContext context;
  std::shared_ptr<const KernelSum> sum;
  const absl::Status status = MakeKernelSum(problem, sum, context);
  EXPECT_TRUE(status.ok()) << status;
  return sum;
}

TEST(KernelSumTest, ProblemsOfTheSameRowsAndKernelsShareIt) {
  const TrainingProblem problem = WithCell();
  const std::shared_ptr<const KernelSum> sum = SumOf(problem);
  EXPECT_EQ(SumOf(problem), sum);
  TrainingProblem other_targets = problem;
  other_targets.tasks[0].targets *= -1;
  other_targets.tasks[0].costs *= 2;
  EXPECT_EQ(SumOf(other_targets), sum);
  TrainingProblem lone = problem;
  lone.kernel_sum = nullptr;
  EXPECT_NE(SumOf(lone), sum);
}

// The sum of some rows, of other kernels or of another table is another one, and takes its place.
TEST(KernelSumTest, AnotherProblemHasItsOwn) {
  const TrainingProblem problem = WithCell();
  TrainingProblem part = Narrow(problem, {1, 4, 7}, 0);
  TrainingProblem of_kernels = problem;
  of_kernels.kernels = {Gaussian(3.0)};
  TrainingProblem of_table = problem;
  of_table.tasks[0].inputs =
      std::make_shared<const PreparedData>(Prepared(RowMatrix::Random(60, 2)));
  for (const TrainingProblem& other : {part, of_kernels, of_table}) {
    const std::shared_ptr<const KernelSum> sum = SumOf(problem);
    const std::shared_ptr<const KernelSum> of_other = SumOf(other);
    TrainingProblem lone = other;
    lone.kernel_sum = nullptr;
    EXPECT_EQ(*of_other->kernel->Dense(), *SumOf(lone)->kernel->Dense());
    EXPECT_EQ(other.kernel_sum->Find(problem), nullptr);
    EXPECT_NE(SumOf(problem), sum);
  }
}

TEST(KernelSumTest, OneIsInMemoryAtATime) {
  const TrainingProblem problem = WithCell();
  const std::weak_ptr<const KernelSum> sum = SumOf(problem);
  EXPECT_FALSE(sum.expired());
  // Its making fails, and nothing is kept.
  TrainingProblem other = problem;
  other.kernels[0].bandwidth = 9;
  const CancellationToken cancellation;
  cancellation.Cancel();
  RunContext cancelled(cancellation, 1, nullptr);
  std::shared_ptr<const KernelSum> none;
  EXPECT_FALSE(MakeKernelSum(other, none, cancelled).ok());
  EXPECT_TRUE(sum.expired());
  EXPECT_EQ(problem.kernel_sum->Find(problem), nullptr);
}

// A certificate does not depend on what the cell keeps.
TEST(KernelSumTest, ProductHasTheSameBitsWhateverTheCellKeeps) {
  const TrainingProblem problem = WithCell();
  RunContext context;
  const auto family = MakeExactKernelFamily(problem.tasks[0].inputs, problem.tasks[0].rows,
                                            problem.kernels, context);
  ASSERT_TRUE(family.ok()) << family.status();
  const Matrix a = Matrix::Random(60, 2);
  Matrix expected(60, 2);
  ASSERT_TRUE((*family)->CombinedProduct(Vector::Ones(2), a, expected, context).ok());
  TrainingProblem without_cell = problem;
  without_cell.kernel_sum = nullptr;
  TrainingProblem other = problem;
  other.kernels[0].bandwidth = 9;
  const auto product = [&](const TrainingProblem& of) {
    Matrix out = Matrix::Constant(60, 2, kInfinity);
    EXPECT_TRUE(KernelSumProduct(of, **family, a, out, context).ok());
    return out;
  };
  EXPECT_EQ(product(without_cell), expected);
  EXPECT_EQ(product(problem), expected) << "of an empty cell";
  SumOf(problem);
  EXPECT_EQ(product(problem), expected) << "of its own sum";
  SumOf(other);
  EXPECT_EQ(product(problem), expected) << "of a cell with another sum";
}

// A value of a path begins with the product that the certificate of the value before has computed.
TEST(KernelSumTest, TheLastProductIsNotComputedAgain) {
  const TrainingProblem problem = WithCell();
  const std::shared_ptr<const KernelSum> sum = SumOf(problem);
  RunContext context;
  const CancellationToken cancellation;
  cancellation.Cancel();
  RunContext cancelled(cancellation, 1, nullptr);  // in which nothing can be computed
  const Matrix a = Matrix::Random(60, 2);
  Vector expected(60);
  ASSERT_TRUE(KernelSumProduct(problem, *sum->family, a.col(0), expected, context).ok());
  Vector product(60);
  ASSERT_TRUE(sum->Product(a.col(0), product, cancelled).ok());
  EXPECT_EQ(product, expected);
  EXPECT_FALSE(sum->Product(a.col(1), product, cancelled).ok());
  Matrix both(60, 2);
  EXPECT_FALSE(sum->Product(a, both, cancelled).ok());
  ASSERT_TRUE(sum->Product(a, both, context).ok());
  EXPECT_FALSE(sum->Product(a.col(1), product, cancelled).ok()) << "its sums have another order";
  ASSERT_TRUE(sum->Product(a.col(0), product, cancelled).ok());
  EXPECT_EQ(product, expected);
}

// The values of a path have it in common, those of each fold and of the model.
TEST(KernelSumTest, APathMakesItOnceForEachSetOfRows) {
  const Dataset data = ClassificationData(60, 2, 2, 4);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.limits.relative_gap = 1e-6;
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  recipe.path = OptionPath{"C", {0.1, 1.0, 10.0}};
  recipe.path->keep_all = true;
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const auto made =
      std::count_if(observer.stages.begin(), observer.stages.end(),
                    [](const auto& stage) { return stage.report.stage == "kernels"; });
  EXPECT_EQ(made, 4);
}

// Classes that are told from the rest have all rows.
TEST(KernelSumTest, ClassesAgainstTheRestShareIt) {
  const Dataset data = ClassificationData(90, 2, 3, 4);
  TrainingRecipe recipe = ExampleRecipe();
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.coding.num_outputs(), 3);
  const auto made =
      std::count_if(observer.stages.begin(), observer.stages.end(),
                    [](const auto& stage) { return stage.report.stage == "kernels"; });
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace mercer
