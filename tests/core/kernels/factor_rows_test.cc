#include "core/kernels/factor_rows.h"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

constexpr double kRounding = 1e-14;  // of the sum of magnitudes

std::vector<std::tuple<Index, Index>> OddShapes() {
  return {{1, 0},  {513, 0},  {1, 1},     {513, 1},  {5000, 1},
          {1, 37}, {513, 37}, {5000, 37}, {513, 700}};
}

// A vector of which a third of the entries is zero.
Vector VectorWithZeros(Index size, uint64_t seed) {
  Vector values = UniformMatrix(size, 1, seed);
  for (Index i = 0; i < size; i += 3) {
    values(i) = 0;
  }
  return values;
}

// Every row but some, not in order, one of them twice.
std::vector<Index> ShuffledRows(Index rows) {
  std::vector<Index> chosen;
  for (Index i = rows - 1; i >= 0; --i) {
    if (i % 5 != 3) {
      chosen.push_back(i);
    }
  }
  chosen.push_back(rows / 2);
  return chosen;
}

// A sum and the sum of the magnitudes of its terms.
struct ExactSum {
  long double sum = 0;
  long double size = 0;

  void Add(long double term) {
    sum += term;
    size += std::abs(term);
  }
};

void ExpectSum(double actual, const ExactSum& exact, const std::string& what) {
  EXPECT_LE(std::abs(actual - exact.sum), kRounding * exact.size) << what;
}

std::string ShapeName(Index rows, Index columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

TEST(FactorRowsTest, ProductsEqualSumsInHigherPrecision) {
  RunContext context;
  for (const auto& [rows, columns] : OddShapes()) {
    const auto factor = RandomFactor(rows, columns, 1);
    EXPECT_EQ(factor->rows(), rows);
    EXPECT_EQ(factor->cols(), columns);
    const Vector x = UniformMatrix(columns, 1, 2);
    const std::vector<Index> chosen = ShuffledRows(rows);
    Vector out = Vector::Constant(rows, NAN);
    ASSERT_TRUE(factor->Multiply(x, out, context).ok());
    Vector some = Vector::Constant(static_cast<Index>(chosen.size()), NAN);
    ASSERT_TRUE(factor->MultiplyRows(chosen, x, some, context).ok());
    for (Index i = 0; i < rows; ++i) {
      ExactSum exact;
      for (Index c = 0; c < columns; ++c) {
        exact.Add(static_cast<long double>(factor->row(i)[c]) * x(c));
      }
      ExpectSum(out(i), exact, ShapeName(rows, columns));
    }
    for (size_t j = 0; j < chosen.size(); ++j) {
      EXPECT_EQ(some(static_cast<Index>(j)), out(chosen[j])) << ShapeName(rows, columns);
    }
  }
}

TEST(FactorRowsTest, TransposedProductsEqualSumsInHigherPrecision) {
  RunContext context;
  for (const auto& [rows, columns] : OddShapes()) {
    const auto factor = RandomFactor(rows, columns, 3);
    const Vector a = VectorWithZeros(rows, 4);
    Vector out = Vector::Constant(columns, NAN);
    ASSERT_TRUE(factor->MultiplyTransposed(a, out, context).ok());
    for (Index c = 0; c < columns; ++c) {
      ExactSum exact;
      for (Index i = 0; i < rows; ++i) {
        exact.Add(static_cast<long double>(a(i)) * factor->row(i)[c]);
      }
      ExpectSum(out(c), exact, ShapeName(rows, columns));
    }
  }
}

// The lower triangle of out = 1 + scale sum_j w_j row_j row_j', at the columns at tiles' edges and every 37th.
void CheckGram(Index rows, Index columns, double scale) {
  RunContext context;
  const auto factor = RandomFactor(rows, columns, 5);
  const std::vector<Index> chosen = ShuffledRows(rows);
  const auto count = static_cast<Index>(chosen.size());
  Vector weights = UniformMatrix(count, 1, 6).cwiseAbs();
  weights(0) = 0;
  Matrix out = Matrix::Ones(columns, columns);
  ASSERT_TRUE(factor->AddGram(chosen, weights, scale, out, context).ok());
  const auto checked = [&](Index c) {
    return c % 37 == 0 || c % 128 == 0 || c % 128 == 127 || c == columns - 1;
  };
  for (Index i = 0; i < columns; ++i) {
    for (Index j = 0; j <= i; ++j) {
      if (!checked(i) || !checked(j)) {
        continue;
      }
      ExactSum exact;
      exact.Add(1);
      for (Index r = 0; r < count; ++r) {
        const float* row = factor->row(chosen[static_cast<size_t>(r)]);
        exact.Add(static_cast<long double>(scale) * weights(r) * row[i] * row[j]);
      }
      ExpectSum(out(i, j), exact, ShapeName(rows, columns));
    }
  }
}

TEST(FactorRowsTest, GramEqualsSumsInHigherPrecision) {
  for (const auto& [rows, columns] : OddShapes()) {
    CheckGram(rows, columns, 2.5);
    CheckGram(rows, columns, -1.0);
  }
}

TEST(FactorRowsTest, GramOfARectangleOfALargerMatrixLeavesTheRestAlone) {
  RunContext context;
  const auto factor = RandomFactor(40, 5, 7);
  Matrix large = Matrix::Constant(9, 8, 3.0);
  const std::vector<Index> rows = {0, 39};
  ASSERT_TRUE(factor->AddGram(rows, Vector::Ones(2), 1.0, large.block(2, 1, 5, 5), context).ok());
  Matrix outside = large;
  outside.block(2, 1, 5, 5).setConstant(3.0);
  ExpectEqualBits(outside, Matrix::Constant(9, 8, 3.0), "outside");
  EXPECT_NE(large(2, 1), 3.0);
}

TEST(FactorRowsTest, RowsWithoutACoefficientAreNotRead) {
  RunContext context;
  auto factor = RandomFactor(2100, 37, 8);
  Vector a = VectorWithZeros(2100, 9);
  Vector before(37);
  ASSERT_TRUE(factor->MultiplyTransposed(a, before, context).ok());
  for (Index i = 0; i < 2100; i += 3) {
    factor->row(i)[i % 37] = NAN;
  }
  Vector after(37);
  ASSERT_TRUE(factor->MultiplyTransposed(a, after, context).ok());
  ExpectEqualBits(after, before, "rows of coefficient 0");
  ASSERT_TRUE(factor->MultiplyTransposed(Vector::Zero(2100), after, context).ok());
  ExpectEqualBits(after, Vector::Zero(37), "no row at all");
}

// All results one below the other.
Vector FactorFingerprint(const FactorRows& factor, RunContext& context) {
  const Index n = factor.rows();
  const Index r = factor.cols();
  const std::vector<Index> rows = ShuffledRows(n);
  const auto count = static_cast<Index>(rows.size());
  Vector product(n);
  Vector some(count);
  Vector transposed(r);
  Matrix gram = Matrix::Zero(r, r);
  EXPECT_TRUE(factor.Multiply(UniformMatrix(r, 1, 10), product, context).ok());
  EXPECT_TRUE(factor.MultiplyRows(rows, UniformMatrix(r, 1, 11), some, context).ok());
  EXPECT_TRUE(factor.MultiplyTransposed(VectorWithZeros(n, 12), transposed, context).ok());
  const Vector weights = UniformMatrix(count, 1, 13).cwiseAbs();
  EXPECT_TRUE(factor.AddGram(rows, weights, 0.5, gram, context).ok());
  gram.triangularView<Eigen::StrictlyUpper>().setZero();
  Vector all(n + count + r + r * r);
  all << product, some, transposed, gram.reshaped();
  return all;
}

TEST(FactorRowsTest, ResultsHaveTheSameBitsForEveryNumberOfThreads) {
  const auto factor = RandomFactor(5000, 300, 14);
  RunContext one = ContextOfThreads(1);
  RunContext three = ContextOfThreads(3);
  ExpectEqualBits(FactorFingerprint(*factor, three), FactorFingerprint(*factor, one), "threads");
}

TEST(FactorRowsTest, BytesAreThoseOfRowsPaddedToALine) {
  EXPECT_EQ(FactorRows::Bytes(10, 0), 0U);
  EXPECT_EQ(FactorRows::Bytes(10, 1), 10U * 64U);
  EXPECT_EQ(FactorRows::Bytes(10, 16), 10U * 64U);
  EXPECT_EQ(FactorRows::Bytes(10, 37), 10U * 192U);
}

TEST(FactorRowsTest, EveryOperationEndsWithCancellation) {
  RunContext context = CancelledContext();
  const auto factor = RandomFactor(600, 37, 15);
  const std::vector<Index> rows = {1, 2};
  Vector n(600);
  Vector two(2);
  Vector r(37);
  Matrix gram = Matrix::Zero(37, 37);
  EXPECT_TRUE(absl::IsCancelled(factor->Multiply(r.setOnes(), n, context)));
  EXPECT_TRUE(absl::IsCancelled(factor->MultiplyRows(rows, r.setOnes(), two, context)));
  EXPECT_TRUE(absl::IsCancelled(factor->MultiplyTransposed(n.setOnes(), r, context)));
  EXPECT_TRUE(absl::IsCancelled(factor->AddGram(rows, two.setOnes(), 1.0, gram, context)));
}

}  // namespace
}  // namespace mercer
