#include "core/linalg/symmetric_eigen.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

Matrix Symmetric(Index size, uint64_t seed) {
  const Matrix values = UniformMatrix(size, size, seed);
  return values + values.transpose();
}

// Orthonormal columns.
Matrix Rotation(Index size, uint64_t seed) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(Symmetric(size, seed)).eigenvectors();
}

void ExpectDecomposed(const Matrix& a, const std::string& what) {
  RunContext context;
  Matrix lower = a;
  lower.triangularView<Eigen::StrictlyUpper>().setConstant(1e300);
  const absl::StatusOr<SymmetricEigen> eigen = SymmetricEigen::Make(lower, context);
  ASSERT_TRUE(eigen.ok()) << what << ": " << eigen.status();
  const Index size = a.rows();
  const absl::StatusOr<Matrix> vectors = eigen->Largest(size, context);
  ASSERT_TRUE(vectors.ok()) << what;
  const Eigen::SelfAdjointEigenSolver<Matrix> expected(a);
  const double rounding =
      1e-15 * static_cast<double>(size + 10) * expected.eigenvalues().cwiseAbs().maxCoeff();
  EXPECT_LE((eigen->values() - expected.eigenvalues()).cwiseAbs().maxCoeff(), rounding) << what;
  const Vector descending = eigen->values().reverse();
  EXPECT_LE((a * *vectors - *vectors * descending.asDiagonal()).cwiseAbs().maxCoeff(), rounding)
      << what;
  EXPECT_LE((vectors->transpose() * *vectors - Matrix::Identity(size, size)).cwiseAbs().maxCoeff(),
            1e-15 * static_cast<double>(size + 10))
      << what;
  const absl::StatusOr<Matrix> some = eigen->Largest(size / 2, context);
  ASSERT_TRUE(some.ok()) << what;
  ExpectMatrixNear(*some, vectors->leftCols(size / 2), 1e-12, what);
}

// Around the bounds of leaves, panels and pieces.
TEST(SymmetricEigenTest, RandomMatricesOfEverySize) {
  for (const Index size : {1, 2, 3, 64, 65, 66, 67, 97, 129, 130, 131, 257, 300}) {
    ExpectDecomposed(Symmetric(size, 7), std::to_string(size));
    ExpectDecomposed(1e150 * Symmetric(size, 8), std::to_string(size));
  }
}

TEST(SymmetricEigenTest, EqualAndVanishingEigenvalues) {
  for (const Index size : {66, 70, 150}) {
    const Matrix q = Rotation(size, 3);
    std::vector<Vector> spectra = {Vector::Zero(size), Vector::Ones(size),
                                   Vector::Unit(size, size / 2), Vector::LinSpaced(size, 0, 1)};
    spectra.push_back((Vector::LinSpaced(size, 0, 5).array().floor()).matrix());
    spectra.push_back(Vector::LinSpaced(size, 0, 300).unaryExpr([](double power) {
      return std::pow(10.0, -power);
    }));
    for (size_t i = 0; i < spectra.size(); ++i) {
      const Matrix product = q * spectra[i].asDiagonal() * q.transpose();
      ExpectDecomposed(0.5 * (product + product.transpose()),
                       std::to_string(size) + ", spectrum " + std::to_string(i));
      ExpectDecomposed(spectra[i].asDiagonal(), "diagonal, spectrum " + std::to_string(i));
    }
  }
}

// Wilkinson's W+: pairs of eigenvalues that agree to all digits, of which none is equal.
TEST(SymmetricEigenTest, WilkinsonsMatrixAndTheSecondDifferences) {
  constexpr Index kSize = 201;
  Matrix wilkinson = Matrix::Zero(kSize, kSize);
  Matrix differences = 2 * Matrix::Identity(kSize, kSize);
  for (Index i = 0; i < kSize; ++i) {
    wilkinson(i, i) = std::abs(static_cast<double>(i - kSize / 2));
    if (i > 0) {
      wilkinson(i, i - 1) = wilkinson(i - 1, i) = 1;
      differences(i, i - 1) = differences(i - 1, i) = -1;
    }
  }
  ExpectDecomposed(wilkinson, "Wilkinson");
  ExpectDecomposed(differences, "second differences");
  RunContext context;
  const auto eigen = SymmetricEigen::Make(differences, context);
  ASSERT_TRUE(eigen.ok());
  for (Index j = 0; j < kSize; ++j) {
    const double half_angle = M_PI * static_cast<double>(j + 1) / (2.0 * (kSize + 1));
    EXPECT_NEAR(eigen->values()(j), 4 * std::pow(std::sin(half_angle), 2), 1e-13);
  }
}

TEST(SymmetricEigenTest, CancelledWorkEndsWithinAQuarterSecond) {
  const Matrix a = Symmetric(kSanitized ? 300 : 1500, 5);
  const auto work = [&](RunContext& context) -> absl::Status {
    const absl::StatusOr<SymmetricEigen> eigen = SymmetricEigen::Make(a, context);
    return eigen.ok() ? eigen->Largest(a.rows(), context).status() : eigen.status();
  };
  const double whole = WholeWork(work);
  for (const double part : {0.0, 0.2, 0.4, 0.6, 0.8}) {
    EXPECT_LE(WorkAfterCancel(part * whole, work), kMostWorkAfterCancel) << part << " of " << whole;
  }
}

}  // namespace
}  // namespace mercer
