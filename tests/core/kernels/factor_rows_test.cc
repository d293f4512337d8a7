#include "core/kernels/gram/factor_rows.h"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"

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

// Otherwise one thread does so, for seconds, before the first look at cancellation.
TEST(FactorRowsTest, ALargeTableIsMadeWithoutTouchingIt) {
  const double begin = ProcessorSeconds();
  const FactorRows table(200'000, 1000);
  EXPECT_LE(ProcessorSeconds() - begin, 0.1 * kMostWorkAfterCancel) << table.rows();
}

TEST(FactorRowsTest, RowsEndWithZerosWhateverTheMemoryHeld) {
  FactorRows table(3, 17);
  for (const double value : {7.0, 3.0}) {
    for (Index i = 0; i < table.rows(); ++i) {
      table.SetRow(i, Vector::Constant(17, value));
      for (Index c = 0; c < table.stride(); ++c) {
        EXPECT_EQ(table.row(i)[c], c < 17 ? value : 0.0) << i << " " << c;
      }
    }
  }
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

TEST(FactorRowsTest, ProductsWithMatricesAreThoseWithTheirColumns) {
  RunContext context;
  for (const auto& [rows, columns] : OddShapes()) {
    const auto factor = RandomFactor(rows, columns, 8);
    for (const Index count : {0, 1, 7}) {
      const Matrix x = UniformMatrix(columns, count, 9);
      const Matrix a = UniformMatrix(rows, count, 10);
      Matrix product = Matrix::Constant(rows, count, NAN);
      Matrix transposed = Matrix::Constant(columns, count, NAN);
      ASSERT_TRUE(factor->MultiplyMatrix(x, product, context).ok());
      ASSERT_TRUE(factor->MultiplyTransposedMatrix(a, transposed, context).ok());
      for (Index j = 0; j < count; ++j) {
        Vector column(rows);
        ASSERT_TRUE(factor->Multiply(x.col(j), column, context).ok());
        EXPECT_LE((product.col(j) - column).norm(), 1e-12 * std::sqrt(static_cast<double>(rows)))
            << ShapeName(rows, columns);
        Vector reduced(columns);
        ASSERT_TRUE(factor->MultiplyTransposed(a.col(j), reduced, context).ok());
        EXPECT_LE((transposed.col(j) - reduced).norm(), 1e-13 * static_cast<double>(rows))
            << ShapeName(rows, columns);
      }
      Matrix again = product;
      Matrix transposed_again = transposed;
      RunContext three_threads = ContextOfThreads(3);
      ASSERT_TRUE(factor->MultiplyMatrix(x, again, three_threads).ok());
      ASSERT_TRUE(factor->MultiplyTransposedMatrix(a, transposed_again, three_threads).ok());
      EXPECT_EQ(again, product);
      EXPECT_EQ(transposed_again, transposed);
    }
  }
  RunContext cancelled = CancelledContext();
  Matrix out(513, 2);
  EXPECT_TRUE(absl::IsCancelled(
      RandomFactor(513, 5, 1)->MultiplyMatrix(Matrix::Ones(5, 2), out, cancelled)));
}

TEST(FactorRowsTest, SingleRowsAreDottedAndAdded) {
  const auto factor = RandomFactor(3, 37, 11);
  Vector x = Vector::Zero(factor->stride());
  x.head(37) = UniformMatrix(37, 1, 12);
  Vector sum = x;
  factor->AddRow(2, -1.5, sum.data());
  ExactSum dot;
  for (Index c = 0; c < 37; ++c) {
    dot.Add(static_cast<long double>(factor->row(2)[c]) * x(c));
    EXPECT_DOUBLE_EQ(sum(c), x(c) - 1.5 * static_cast<double>(factor->row(2)[c]));
  }
  ExpectSum(factor->DotRow(2, x.data()), dot, "row 2");
  EXPECT_EQ(sum.tail(factor->stride() - 37), Vector::Zero(factor->stride() - 37));
}

TEST(FactorRowsTest, RowsTimesATriangleAreRoundedProducts) {
  RunContext context;
  const auto factor = RandomFactor(600, 37, 13);
  const Matrix root = UniformMatrix(37, 37, 14).triangularView<Eigen::Lower>();
  const auto product = factor->TimesTriangular(root, context);
  ASSERT_TRUE(product.ok());
  for (Index i = 0; i < 600; i += 7) {
    for (Index c = 0; c < 37; ++c) {
      double sum = 0;
      for (Index j = c; j < 37; ++j) {
        sum += static_cast<double>(factor->row(i)[j]) * root(j, c);
      }
      EXPECT_NEAR(product->row(i)[c], sum, 1e-6 * 37);
    }
  }
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(factor->TimesTriangular(root, cancelled).status()));
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
    factor->SetRow(i, Vector::Constant(37, NAN));
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
