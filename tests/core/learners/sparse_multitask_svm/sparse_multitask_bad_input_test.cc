// Data, kernels and options that are odd or no good: what is refused is named with its task, kernel
// or column, and what is odd alone trains.
#include <cmath>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "tests/core/learners/sparse_multitask_svm/sparse_multitask_problems.h"
#include "tests/support/field_violation.h"
#include "tests/support/toy_data.h"

namespace mercer::sparse_multitask_svm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Tasks of these numbers of rows, of both classes in turn.
TrainingProblem Problem(const std::vector<Index>& rows = {20, 20}, Index columns = 4) {
  std::vector<Matrix> inputs;
  std::vector<Vector> targets;
  for (size_t t = 0; t < rows.size(); ++t) {
    Matrix values = NormalMatrix(rows[t], columns, t + 1);
    Vector labels(rows[t]);
    for (Index i = 0; i < rows[t]; ++i) {
      labels(i) = i % 2 == 0 ? 1 : -1;
      values(i, 0) += labels(i);
    }
    inputs.push_back(std::move(values));
    targets.push_back(std::move(labels));
  }
  return ColumnProblem(inputs, IndexRange(0, columns), targets);
}

void ChangeInputs(TrainingProblem& problem, const std::function<void(RowMatrix&)>& change) {
  PreparedData inputs = *problem.tasks[0].inputs;
  RowMatrix values = inputs.blocks[0].values.view();
  change(values);
  inputs.blocks[0].values = SharedMatrix(std::move(values));
  const auto shared = std::make_shared<const PreparedData>(std::move(inputs));
  for (TaskData& task : problem.tasks) {
    task.inputs = shared;
  }
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

std::string RefusedField(const OptionValues& options, const TrainingProblem& problem = Problem()) {
  const absl::Status status = Train(problem, options, 1e-3).status();
  const std::vector<FieldViolation> violations = GetFieldViolations(status);
  EXPECT_EQ(violations.size(), 1u) << status;
  return violations.empty() ? "" : violations[0].field;
}

TEST(SparseMultitaskBadInputTest, TasksOfUnequalSizeTrain) {
  const TrainingOutcome outcome = MustTrain(Problem({2, 60, 9}), {}, 1e-6);
  EXPECT_EQ(outcome.stop_reason, StopReason::kConverged);
}

TEST(SparseMultitaskBadInputTest, ATaskOfOneClassIsRefusedByNameUnlessAllowed) {
  TrainingProblem problem = Problem({20, 1, 12});
  const absl::Status refused = Train(problem, {}, 1e-3).status();
  EXPECT_EQ(GetReason(refused), "ONE_CLASS") << refused;
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("task 'task 2'"), HasSubstr("both classes")));
  for (const double p : {0.5, 1.0, 1.5}) {
    const TrainingOutcome outcome = MustTrain(problem, {{"allow_one_class", true}, {"p", p}}, 1e-4);
    EXPECT_LE(outcome.certificate.accuracy, 1e-4) << p << ", " << outcome.iterations;
    const Matrix values = ValuesOf(outcome.point.function, *problem.tasks[0].inputs);
    EXPECT_LE((values.col(1).array() - 1).abs().maxCoeff(), 1e-12);
  }
  for (TaskData& task : problem.tasks) {
    task.targets.setConstant(-1);
  }
  const TrainingOutcome constants = MustTrain(problem, {{"allow_one_class", true}}, 1e-6);
  EXPECT_EQ(constants.certificate.primal, 0);
  EXPECT_TRUE((constants.point.function.bias.array() == -1).all());
}

TEST(SparseMultitaskBadInputTest, ATaskWithoutRowsOrWeightsIsNamed) {
  TrainingProblem empty = Problem();
  empty.tasks[1].rows.clear();
  empty.tasks[1].targets.resize(0, 1);
  empty.tasks[1].costs.resize(0);
  EXPECT_EQ(GetReason(Train(empty, {}, 1e-3).status()), "NO_ROWS");
  EXPECT_THAT(Text(Train(empty, {}, 1e-3).status()), HasSubstr("task 'task 2'"));
  TrainingProblem weightless = Problem();
  weightless.tasks[0].costs.setZero();
  EXPECT_THAT(Text(Train(weightless, {}, 1e-3).status()), HasSubstr("task 'task 1'"));
  TrainingProblem negative = Problem();
  negative.tasks[1].costs(3) = -1;
  EXPECT_EQ(GetReason(Train(negative, {}, 1e-3).status()), "BAD_WEIGHT");
  EXPECT_THAT(Text(Train(negative, {}, 1e-3).status()),
              AllOf(HasSubstr("task 'task 2'"), HasSubstr("row 24")));
}

TEST(SparseMultitaskBadInputTest, LabelsThatAreNoneAreNamedWithTaskAndRow) {
  TrainingProblem problem = Problem();
  problem.tasks[1].targets(2) = 0.5;
  const absl::Status status = Train(problem, {}, 1e-3).status();
  EXPECT_EQ(GetReason(status), "BAD_LABEL");
  EXPECT_THAT(Text(status), AllOf(HasSubstr("task 'task 2'"), HasSubstr("row 23")));
}

TEST(SparseMultitaskBadInputTest, ZeroConstantAndDuplicateColumnsChangeNothing) {
  const TrainingProblem plain = Problem({20, 30}, 4);
  TrainingProblem odd = Problem({20, 30}, 7);
  ChangeInputs(odd, [&](RowMatrix& values) {
    values.leftCols(4) = plain.tasks[0].inputs->blocks[0].values.view();
    values.col(4).setZero();
    values.col(5).setConstant(3);
    values.col(6) = values.col(0);
  });
  for (const char* method : {"interior_point", "closed_form", "coordinate_descent"}) {
    const OptionValues options = {{"method", std::string(method)}};
    const double gap = method == std::string("interior_point") ? 1e-7 : 1e-3;
    const TrainingOutcome expected = MustTrain(plain, options, gap);
    const TrainingOutcome outcome = MustTrain(odd, options, gap);
    EXPECT_NEAR(outcome.certificate.primal, expected.certificate.primal,
                2 * gap * expected.certificate.primal);
    EXPECT_EQ(BlockNorms(outcome.point.summary)(4), 0);
    EXPECT_LE(BlockNorms(outcome.point.summary)(5), 10 * std::sqrt(gap));
  }
  TrainingProblem zeros = Problem();
  ChangeInputs(zeros, [](RowMatrix& values) { values.setZero(); });
  for (const double p : {0.5, 1.0, 1.5}) {
    const TrainingOutcome nothing = MustTrain(zeros, {{"p", p}}, 1e-6);
    EXPECT_EQ(nothing.stop_reason, StopReason::kConverged) << p;
    EXPECT_TRUE(nothing.point.function.terms.empty()) << p;
  }
}

TEST(SparseMultitaskBadInputTest, ScalingAConstantBlockIsRefusedWithTaskAndKernel) {
  TrainingProblem problem = Problem();
  ChangeInputs(problem, [](RowMatrix& values) { values.col(2).tail(20).setConstant(1); });
  for (KernelSpec& kernel : problem.kernels) {
    kernel.normalization.scaling = KernelScaling::kVariance;
  }
  const absl::Status status = Train(problem, {}, 1e-3).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Text(status), AllOf(HasSubstr("task 'task 2'"), HasSubstr("kernels[2]")));
}

// Columns in two blocks, or in none, are kernels like others.
TEST(SparseMultitaskBadInputTest, OverlappingAndIncompleteGroupsOfColumnsTrain) {
  TrainingProblem problem = Problem({20, 20}, 4);
  problem.kernels.resize(2);
  problem.kernels[0].columns = {"x1", "x2"};
  problem.kernels[1].columns = {"x2", "x3"};
  EXPECT_EQ(MustTrain(problem, {}, 1e-6).stop_reason, StopReason::kConverged);
  problem.kernels[1].columns = {"x3"};
  EXPECT_EQ(MustTrain(problem, {}, 1e-6).stop_reason, StopReason::kConverged);
  problem.kernels[1].columns = {"x9"};
  const absl::Status unknown = Train(problem, {}, 1e-3).status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown)) << unknown;
  EXPECT_THAT(Text(unknown), HasSubstr("x9"));
}

TEST(SparseMultitaskBadInputTest, RowsAlikeWithOppositeLabelsTrain) {
  TrainingProblem problem = Problem();
  ChangeInputs(problem, [](RowMatrix& values) { values.row(1) = values.row(0); });
  EXPECT_EQ(MustTrain(problem, {{"C", 100.0}}, 1e-6).stop_reason, StopReason::kConverged);
}

TEST(SparseMultitaskBadInputTest, OptionsThatDoNotFitAreNamed) {
  EXPECT_EQ(RefusedField({{"C", 0.0}}), "C");
  EXPECT_EQ(RefusedField({{"C", std::nan("")}}), "C");
  EXPECT_EQ(RefusedField({{"C", 1e200}}), "C");
  EXPECT_EQ(RefusedField({{"p", 0.0}}), "p");
  EXPECT_EQ(RefusedField({{"p", -1.0}}), "p");
  EXPECT_EQ(RefusedField({{"q", 0.9}}), "q");
  EXPECT_EQ(RefusedField({{"p", 0.5}, {"q", 1.5}}), "p");
  EXPECT_EQ(RefusedField({{"sharing", std::string("separate")}, {"q", 1.5}}), "q");
  EXPECT_EQ(RefusedField({{"smoothing", -1.0}}), "smoothing");
  EXPECT_EQ(RefusedField({{"form", std::string("plain")}, {"p", 1.5}}), "form");
  EXPECT_EQ(RefusedField({{"method", std::string("newton")}, {"p", 1.5}}), "method");
  EXPECT_EQ(RefusedField({{"method", std::string("closed_form")}, {"p", 0.5}}), "method");
  EXPECT_EQ(RefusedField({{"method", std::string("interior_point")}, {"q", 1.5}}), "method");
  EXPECT_EQ(RefusedField({{"method", std::string("coordinate_descent")}, {"p", 0.5}}), "method");
  EXPECT_EQ(RefusedField({{"block_weights", std::vector<double>{1, 2}}}), "block_weights");
  EXPECT_EQ(RefusedField({{"block_weights", std::vector<double>{1, 2, 0, 1}}}), "block_weights");
}

TEST(SparseMultitaskBadInputTest, TinyAndHugeCostsTrain) {
  for (const double C : {1e-8, 1e4}) {
    const TrainingOutcome outcome = MustTrain(Problem({30, 40}, 12), {{"C", C}}, 1e-4);
    EXPECT_LE(outcome.certificate.accuracy, 1e-4) << C << ", " << outcome.iterations;
  }
  // Where rounding ends a run its certificate says how far it is.
  const TrainingOutcome hard = MustTrain(Problem({30, 40}, 12), {{"C", 1e8}}, 1e-4);
  EXPECT_TRUE(std::isfinite(hard.certificate.primal));
  EXPECT_EQ(hard.stop_reason, hard.certificate.accuracy <= 1e-4 ? StopReason::kConverged
                                                                : StopReason::kNumericalLimit);
}

TEST(SparseMultitaskBadInputTest, MatricesThatAreNoKernelsAreRefused) {
  const nlohmann::json fixture = ReadSparseFixture("squared_kernel");
  FixtureProblem given = ReadSparseProblem(fixture);
  PreparedData inputs = *given.problem.tasks[0].inputs;
  RowMatrix gram = inputs.squares[0].values.view();
  gram.diagonal().array() -= 5;
  gram.diagonal() = gram.diagonal().cwiseMax(1e-3);
  inputs.squares[0].values = SharedMatrix(std::move(gram));
  const auto shared = std::make_shared<const PreparedData>(std::move(inputs));
  for (TaskData& task : given.problem.tasks) {
    task.inputs = shared;
  }
  const absl::Status status = Train(given.problem, given.options, 1e-4).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace mercer::sparse_multitask_svm
