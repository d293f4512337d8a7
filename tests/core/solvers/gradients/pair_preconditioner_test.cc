#include "core/solvers/gradients/pair_preconditioner.h"

#include <algorithm>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "core/solvers/gradients/pair_system.h"
#include "tests/core/solvers/gradients/gradient_test_problems.h"

namespace mercer {
namespace {

TEST(PairPreconditionerTest, TheLeadingPartHasTheLargestEigenvalues) {
  const GradientProblem problem = MakeCase({.seed = 4, .rows = 60, .columns = 3});
  RunContext context;
  const Matrix leading = LeadingPart(problem.gram, 5, context).value();
  ASSERT_EQ(leading.cols(), 5);
  const Vector all = Eigen::SelfAdjointEigenSolver<Matrix>(problem.gram).eigenvalues().reverse();
  const Vector left =
      Eigen::SelfAdjointEigenSolver<Matrix>(problem.gram - leading * leading.transpose())
          .eigenvalues();
  EXPECT_LE(left.cwiseAbs().maxCoeff(), 1.5 * all(5));
  EXPECT_NEAR(leading.col(0).squaredNorm(), all(0), 1e-3 * all(0));
}

// V V' and a diagonal, formed by its definition.
TEST(PairPreconditionerTest, IsTheInverseOfALowRankAndADiagonal) {
  const GradientProblem problem = MakeCase({.seed = 5, .rows = 25, .columns = 3});
  RunContext context;
  const auto kernel =
      DiagonalPairKernel::Make(problem, Vector::Constant(3, 1.0 / 3), context).value();
  std::vector<Index> pairs;
  for (Index p = 0; p < problem.num_pairs(); p += 2) {
    pairs.push_back(p);
  }
  const auto count = static_cast<Index>(pairs.size());
  const Vector ridge = Vector::LinSpaced(count, 0.1, 0.2);
  const auto made = PairPreconditioner::Make(*kernel, ridge, pairs, context);
  ASSERT_TRUE(made.ok()) << made.status();
  const PairParts& parts = *kernel->parts();
  Matrix whole = Matrix::Zero(count, count);
  Matrix v(count, parts.leading.cols() * (1 + parts.z.cols()));
  for (Index k = 0; k < count; ++k) {
    const auto p = static_cast<size_t>(pairs[static_cast<size_t>(k)]);
    const Index j = parts.pairs.anchors[p];
    Vector u(1 + parts.z.cols());
    u << 1, (parts.z.row(parts.pairs.targets[p]) - parts.z.row(j)).transpose();
    for (Index c = 0; c < parts.leading.cols(); ++c) {
      v.row(k).segment(c * u.size(), u.size()) = parts.leading(j, c) * u.transpose();
    }
    const double diagonal = kernel->diagonal()(pairs[static_cast<size_t>(k)]);
    whole(k, k) = std::max(diagonal - v.row(k).squaredNorm(), 0.01 * diagonal) + ridge(k);
  }
  whole += v * v.transpose();
  const Vector x = RandomVector(count, 6);
  EXPECT_LE((whole * made->Apply(x) - x).cwiseAbs().maxCoeff(), 1e-10);
}

// A row of zeros has the kernel 0 to all others when that is linear, and its pairs have no diagonal.
TEST(PairPreconditionerTest, RowsWhoseKernelIsZeroDoNotHarmTheOthers) {
  GradientData data = MakeGradientData({.seed = 7, .rows = 40, .columns = 4});
  data.rows.row(3).setZero();
  const GradientProblem problem = MakeCase(
      {.seed = 7, .rows = 40, .columns = 4, .loss = LossKind::kHinge, .linear_gram = true}, data);
  RunContext context;
  const auto kernel = DiagonalPairKernel::Make(problem, Vector::Ones(4), context).value();
  std::vector<Index> pairs;
  for (Index p = 0; p < problem.num_pairs(); ++p) {
    pairs.push_back(p);
  }
  const Vector ridge = Vector::Zero(problem.num_pairs());
  const auto made = PairPreconditioner::Make(*kernel, ridge, pairs, context);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->Apply(Vector::Ones(problem.num_pairs())).allFinite());
}

}  // namespace
}  // namespace mercer
