// What must hold for the support vector machine on any data: docs/mathematics/svm.md, section 6.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/solvers/svm/smo.h"
#include "tests/core/solvers/svm_test_problems.h"

namespace mercer {
namespace {

TEST(SmoPropertyTest, WeightTwoEqualsTheSampleTwiceAndWeightZeroItsAbsence) {
  const RowMatrix x = RandomFeatures(21, 40, 3);
  const Vector labels = NoisyLabels(21, x);
  RowMatrix twice(41, 3);
  twice << x, x.row(7);
  Vector labels_twice(41);
  labels_twice << labels, labels(7);
  Vector costs = Vector::Constant(40, 1.5);
  costs(7) = 3.0;
  costs(9) = 0.0;
  Vector costs_twice = Vector::Constant(41, 1.5);
  costs_twice(9) = 0.0;
  const Matrix gram = GaussianGram(x, 0.5);
  const Matrix gram_twice = GaussianGram(twice, 0.5);
  const auto loss = SharedLoss(LossKind::kHinge);
  const auto weighted = SolveSmo(DenseKernelOperator(std::make_shared<const Matrix>(gram)),
                                 {loss, labels, costs}, {.relative_gap = 1e-12});
  const auto repeated = SolveSmo(DenseKernelOperator(std::make_shared<const Matrix>(gram_twice)),
                                 {loss, labels_twice, costs_twice}, {.relative_gap = 1e-12});
  EXPECT_NEAR(weighted->certificate().dual, repeated->certificate().dual,
              1e-10 * weighted->certificate().dual);
  EXPECT_LE((weighted->scores() - repeated->scores().head(40)).lpNorm<Eigen::Infinity>(), 1e-5);
  // Without sample 9 altogether.
  std::vector<Index> rest;
  for (Index i = 0; i < 40; ++i) {
    if (i != 9) {
      rest.push_back(i);
    }
  }
  const auto absent =
      SolveSmo(DenseKernelOperator(std::make_shared<const Matrix>(gram(rest, rest))),
               {loss, labels(rest), costs(rest)}, {.relative_gap = 1e-12});
  EXPECT_EQ(weighted->dual()(9), 0.0);
  EXPECT_NEAR(weighted->certificate().dual, absent->certificate().dual,
              1e-10 * weighted->certificate().dual);
  EXPECT_LE((weighted->scores()(rest) - absent->scores()).lpNorm<Eigen::Infinity>(), 1e-5);
}

TEST(SmoPropertyTest, FlippingLabelsAndPermutingSamplesCarryOver) {
  SmoCase task = MakeSmoCase(22, 60, 2.0);
  const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-12});
  SvmProblem flipped = task.problem;
  flipped.targets *= -1;
  const auto mirrored = SolveSmo(task.kernel, flipped, {.relative_gap = 1e-12});
  EXPECT_LE((solver->scores() + mirrored->scores()).lpNorm<Eigen::Infinity>(), 1e-5);
  EXPECT_NEAR(solver->certificate().bias.chosen, -mirrored->certificate().bias.chosen, 1e-5);
  std::vector<Index> order(60);
  for (Index i = 0; i < 60; ++i) {
    order[static_cast<size_t>(i)] = (i * 7 + 3) % 60;
  }
  const DenseKernelOperator kernel(std::make_shared<const Matrix>((*task.gram)(order, order)));
  const auto permuted =
      SolveSmo(kernel, {task.problem.loss, task.problem.targets(order), task.problem.costs},
               {.relative_gap = 1e-12});
  EXPECT_LE((solver->scores()(order) - permuted->scores()).lpNorm<Eigen::Infinity>(), 1e-5);
}

TEST(SmoPropertyTest, ScalingTheKernelAgainstTheCostScalesTheObjective) {
  for (const double scale : {1e-12, 1e-3, 1e6, 1e12}) {
    SmoCase task = MakeSmoCase(23, 60, 2.0);
    const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-10});
    const DenseKernelOperator kernel(std::make_shared<const Matrix>(scale * *task.gram));
    const auto scaled =
        SolveSmo(kernel, {task.problem.loss, task.problem.targets, task.problem.costs / scale},
                 {.relative_gap = 1e-10});
    EXPECT_NEAR(scaled->certificate().dual * scale, solver->certificate().dual,
                1e-9 * solver->certificate().dual)
        << scale;
    EXPECT_LE((solver->scores() - scaled->scores()).lpNorm<Eigen::Infinity>(), 1e-4);
  }
}

TEST(SmoPropertyTest, AddingAConstantToTheKernelChangesNeitherOptimumNorDecisions) {
  SmoCase task = MakeSmoCase(24, 60, 2.0);
  const auto solver = SolveSmo(task.kernel, task.problem, {.relative_gap = 1e-11});
  const DenseKernelOperator kernel(std::make_shared<const Matrix>(task.gram->array() + 3.0));
  const auto shifted = SolveSmo(kernel, task.problem, {.relative_gap = 1e-11});
  EXPECT_NEAR(shifted->certificate().dual, solver->certificate().dual,
              1e-9 * solver->certificate().dual);
  const Vector decision = solver->scores().array() + solver->certificate().bias.chosen;
  const Vector shifted_decision = shifted->scores().array() + shifted->certificate().bias.chosen;
  EXPECT_LE((decision - shifted_decision).lpNorm<Eigen::Infinity>(), 1e-4);
}

}  // namespace
}  // namespace mercer
