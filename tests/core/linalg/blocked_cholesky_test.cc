#include "core/linalg/blocked_cholesky.h"

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

// Around the bounds of panels and of blocks of rows.
TEST(BlockedCholeskyTest, SubstitutedRowsTimesTheFactorAreTheRows) {
  for (const Index size : {1, 255, 256, 257, 600}) {
    const Matrix root = UniformMatrix(size, size, 3);
    Matrix factor = root * root.transpose();
    factor.diagonal().array() += 1;
    const Matrix of_factor = factor;
    RunContext context = ContextOfThreads(2);
    ASSERT_TRUE(FactorCholesky(factor, context).ok());
    const Matrix lower = factor.triangularView<Eigen::Lower>();
    ExpectMatrixNear(lower * lower.transpose(), of_factor, 1e-12 * static_cast<double>(size),
                     std::to_string(size));
    for (const Index rows : {1, 128, 300}) {
      const Matrix before = UniformMatrix(rows, size, 4);
      Matrix larger = Matrix::Constant(rows + 2, size, 1e300);
      larger.middleRows(1, rows) = before;
      ASSERT_TRUE(SubstituteRows(factor, larger.middleRows(1, rows), context).ok());
      ExpectMatrixNear(larger.middleRows(1, rows) * lower.transpose(), before, 1e-10,
                       std::to_string(size));
      EXPECT_TRUE((larger.row(0).array() == 1e300).all());
      EXPECT_TRUE((larger.row(rows + 1).array() == 1e300).all());
    }
  }
}

TEST(BlockedCholeskyTest, CancelledWorkSaysSo) {
  Matrix a = Matrix::Identity(5, 5);
  RunContext context = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(FactorCholesky(a, context)));
  EXPECT_TRUE(absl::IsCancelled(SolveCholesky(Matrix::Identity(5, 5), a, context)));
  EXPECT_TRUE(absl::IsCancelled(SubstituteRows(Matrix::Identity(5, 5), a, context)));
}

}  // namespace
}  // namespace mercer
