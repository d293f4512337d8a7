#include "core/kernels/gram/strip_coefficients.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

constexpr Index kBasis = 700;  // two panels and a part of one

// Outputs with few coefficients, with many, with none, and with all.
Eigen::SparseMatrix<double> Coefficients() {
  RandomStream random(1, "coefficients");
  const std::vector<double> shares = {0.02, 0.6, 0.0, 1.0, 0.3, 0.24, 0.9};
  Eigen::SparseMatrix<double> coefficients(kBasis, static_cast<Index>(shares.size()));
  for (size_t j = 0; j < shares.size(); ++j) {
    for (Index i = 0; i < kBasis; ++i) {
      if (random.Uniform() < shares[j]) {
        coefficients.insert(i, static_cast<Index>(j)) = random.Normal();
      }
    }
  }
  coefficients.makeCompressed();
  return coefficients;
}

// Values of kernels, the padding of each row included.
RowMatrix KernelValues(Index rows) {
  RandomStream random(2, "values");
  RowMatrix values(rows, PaddedLength(kBasis));
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = random.Normal();
  }
  return values;
}

Strip StripOf(const RowMatrix& values, Index begin, Index rows, Index column, Index width) {
  return {values.data() + begin * values.cols() + column, rows, width, values.cols()};
}

TEST(StripCoefficientsTest, AreTheProductOfTheMatrices) {
  const Eigen::SparseMatrix<double> coefficients = Coefficients();
  const RowMatrix values = KernelValues(21);
  const std::vector<int> targets = {3, 0, 6, 1, 5, 4, 2};
  Vector factors = Vector::LinSpaced(7, -1, 2);
  factors(4) = 0;
  const StripCoefficients strips(coefficients, targets);
  Matrix sums = Matrix::Ones(21, 7);
  strips.AddProducts(0, StripOf(values, 0, 21, 0, kBasis), factors, sums);
  const Matrix products = values.leftCols(kBasis) * Matrix(coefficients) * factors.asDiagonal();
  for (Index j = 0; j < 7; ++j) {
    const Vector difference =
        sums.col(targets[static_cast<size_t>(j)]) - Vector::Ones(21) - products.col(j);
    EXPECT_LE(difference.cwiseAbs().maxCoeff(), 1e-12) << "output " << j;
  }
  EXPECT_TRUE((sums.col(5).array() == 1).all()) << "a factor of zero";
  EXPECT_GE(strips.MemoryBytes(), static_cast<size_t>(coefficients.nonZeros()) * sizeof(double));
}

TEST(StripCoefficientsTest, ARowHasTheSameBitsAloneAndPanelByPanel) {
  const RowMatrix values = KernelValues(21);
  const StripCoefficients strips(Coefficients(), {0, 1, 2, 3, 4, 5, 6});
  const Vector ones = Vector::Ones(7);
  Matrix together = Matrix::Zero(21, 7);
  strips.AddProducts(0, StripOf(values, 0, 21, 0, kBasis), ones, together);
  Matrix alone = Matrix::Zero(21, 7);
  for (Index row = 0; row < 21; ++row) {
    for (Index column = 0; column < kBasis; column += StripCoefficients::kWidth) {
      const Index width = std::min(StripCoefficients::kWidth, kBasis - column);
      strips.AddProducts(column, StripOf(values, row, 1, column, width), ones,
                         alone.middleRows(row, 1));
    }
  }
  EXPECT_TRUE((alone.array() == together.array()).all());
}

}  // namespace
}  // namespace mercer
