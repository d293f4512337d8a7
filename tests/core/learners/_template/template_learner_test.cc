#include "core/learners/_template/template_learner.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem, double C) {
  return RunToGap(template_learner::Entry(), {{"C", C}}, problem);
}

// K + diag(1 / (2 C c)), solved directly.
Vector DirectDual(const TrainingProblem& problem, double C) {
  Matrix gram = SumOfGaussians(problem);
  gram.diagonal() += (2 * C * problem.tasks[0].costs).cwiseInverse();
  return gram.ldlt().solve(problem.tasks[0].targets.col(0));
}

TEST(TemplateLearnerTest, AgreesWithADirectSolution) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    TrainingProblem problem = ToyProblem(kind, 60, 3, {1.0, 4.0});
    problem.tasks[0].costs = Vector::LinSpaced(60, 0.5, 2.0);
    problem.relative_gap = 1e-13;
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 3.0);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const Vector direct = DirectDual(problem, 3.0);
    EXPECT_LT((outcome->point.witness.tasks[0].dual.col(0) - direct).norm(), 1e-5 * direct.norm());
    // At the optimum primal = dual = 1/2 y'(K + diag(1 / (2 C c)))^-1 y.
    const double optimum = problem.tasks[0].targets.col(0).dot(direct) / 2;
    EXPECT_NEAR(outcome->certificate.primal / optimum, 1, 1e-11);
    EXPECT_NEAR(outcome->certificate.dual / optimum, 1, 1e-11);
  }
}

TEST(TemplateLearnerTest, RowsOfCostZeroHaveNoPart) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 40, 2, {1.0});
  problem.tasks[0].costs(7) = 0;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 1.0);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->point.witness.tasks[0].dual(7, 0), 0);
  EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
}

TEST(TemplateLearnerTest, AllTargetsZeroIsAnObjectiveOfZero) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 10, 2, {1.0});
  problem.tasks[0].targets.setZero();
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 1.0);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kObjectiveZero);
  EXPECT_TRUE(TermsOf<KernelTerm>(outcome->point.function.terms).empty());
}

TEST(TemplateLearnerTest, IndefiniteKernelsAreRefused) {
  EXPECT_EQ(Train(IndefiniteProblem(), 10.0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer
