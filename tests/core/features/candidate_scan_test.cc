#include "core/features/candidate_scan.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/features/normalization.h"
#include "tests/core/features/feature_test_data.h"

namespace mercer {
namespace {

RunContext Threads(int threads) { return RunContext(CancellationToken(), threads, nullptr); }

void ExpectSameBits(const CandidateSums& a, const CandidateSums& b) {
  EXPECT_EQ(a.products, b.products);
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (size_t c = 0; c < a.columns.size(); ++c) {
    EXPECT_EQ(a.columns[c].sum, b.columns[c].sum) << c;
    EXPECT_EQ(a.columns[c].squares, b.columns[c].squares) << c;
    EXPECT_EQ(a.columns[c].largest, b.columns[c].largest) << c;
    EXPECT_EQ(a.columns[c].finite, b.columns[c].finite) << c;
  }
}

// What the scan must find, from whole columns in long double.
void ExpectSumsOfColumns(const CandidateSums& sums, const Matrix& columns, const Matrix& slopes,
                         double tolerance) {
  ASSERT_EQ(static_cast<Index>(sums.columns.size()), columns.cols());
  for (Index c = 0; c < columns.cols(); ++c) {
    const ColumnSums& found = sums.columns[static_cast<size_t>(c)];
    const auto column = columns.col(c).cast<long double>().eval();
    EXPECT_NEAR(found.sum, static_cast<double>(column.sum()), tolerance);
    EXPECT_NEAR(found.squares, static_cast<double>(column.squaredNorm()), tolerance);
    EXPECT_NEAR(found.largest, static_cast<double>(column.cwiseAbs().maxCoeff()), 1e-6);
    EXPECT_TRUE(found.finite);
    for (Index t = 0; t < slopes.cols(); ++t) {
      const auto product = column.dot(slopes.col(t).cast<long double>());
      EXPECT_NEAR(sums.products(c, t), static_cast<double>(product), tolerance) << c << " " << t;
    }
  }
}

TEST(CandidateScanTest, FindsTheSumsOfEveryColumnInBothPrecisions) {
  const FeatureRows rows = AllRows(NormalRows(9001, 3, 1));
  const auto family = Fourier(3);
  const std::vector<FeatureParameters> candidates = Drawn(*family, 7, 0);
  Matrix columns(rows.size(), 2 * static_cast<Index>(candidates.size()));
  for (size_t g = 0; g < candidates.size(); ++g) {
    ASSERT_TRUE(EvaluateColumns(*family, rows, {candidates[g]},
                                columns.middleCols(2 * static_cast<Index>(g), 2), RunContext())
                    .ok());
  }
  for (const Index tasks : {1, 2, 7}) {
    const Matrix slopes = NormalRows(rows.size(), tasks, 2);
    for (const auto precision : {FeaturePrecision::kDouble, FeaturePrecision::kSingle}) {
      const auto sums = ScanCandidates(*family, rows, candidates, slopes, precision, RunContext());
      ASSERT_TRUE(sums.ok()) << sums.status();
      // Single precision: 9001 rounding errors of 6e-8, which mostly cancel.
      ExpectSumsOfColumns(*sums, columns, slopes,
                          precision == FeaturePrecision::kDouble ? 1e-9 : 1e-4);
    }
  }
}

TEST(CandidateScanTest, HasTheSameBitsForEveryNumberOfThreadsAndWhateverIsBeside) {
  const FeatureRows rows = AllRows(NormalRows(13000, 5, 3));
  const auto family = Fourier(5, 2.0);
  const std::vector<FeatureParameters> candidates = Drawn(*family, 1, 4);
  const Matrix slopes = NormalRows(rows.size(), 3, 4);
  for (const auto precision : {FeaturePrecision::kDouble, FeaturePrecision::kSingle}) {
    const auto one = ScanCandidates(*family, rows, candidates, slopes, precision, Threads(1));
    const auto three = ScanCandidates(*family, rows, candidates, slopes, precision, Threads(3));
    ASSERT_TRUE(one.ok() && three.ok());
    ExpectSameBits(*one, *three);
    const auto alone =
        ScanCandidates(*family, rows, {candidates[41]}, slopes, precision, Threads(2));
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone->products, one->products.middleRows(82, 2));
    EXPECT_EQ(alone->columns[1].squares, one->columns[83].squares);
  }
}

TEST(CandidateScanTest, StoredColumnsHaveTheBitsOfThoseThatAreEvaluatedAnew) {
  const FeatureRows rows = AllRows(NormalRows(9001, 3, 8));
  const auto family = Fourier(3);
  const std::vector<FeatureParameters> candidates = Drawn(*family, 5, 2);
  const auto columns = EvaluateCandidates(*family, rows, candidates, Threads(3));
  ASSERT_TRUE(columns.ok()) << columns.status();
  for (const Index tasks : {1, 3}) {
    const Matrix slopes = NormalRows(rows.size(), tasks, 9);
    const auto stored = ScanColumns(*columns, rows, slopes, Threads(2));
    const auto anew =
        ScanCandidates(*family, rows, candidates, slopes, FeaturePrecision::kSingle, RunContext());
    ASSERT_TRUE(stored.ok() && anew.ok());
    ExpectSameBits(*stored, *anew);
  }
}

TEST(CandidateScanTest, MarksColumnsWithValuesThatCannotBeComputed) {
  RowMatrix values = NormalRows(300, 2, 5);
  values(299, 1) = 3e7;
  const FeatureRows rows = AllRows(values);
  const auto family = Fourier(2);
  // |v'x| of the last row is 3e7, 1.5e8 and infinite.
  const std::vector<FeatureParameters> candidates = {
      {1.0, 0.0, 1.0}, {1.0, 0.0, 5.0}, {1.0, 0.0, 1e308}, {1.0, 1.0, 0.0}};
  for (const auto precision : {FeaturePrecision::kDouble, FeaturePrecision::kSingle}) {
    const auto sums =
        ScanCandidates(*family, rows, candidates, Matrix::Ones(300, 1), precision, RunContext());
    ASSERT_TRUE(sums.ok());
    for (const size_t c : {0U, 1U, 6U, 7U}) {
      EXPECT_TRUE(sums->columns[c].finite) << c;
      EXPECT_LE(sums->columns[c].largest, 1.0) << c;
    }
    for (const size_t c : {2U, 3U, 4U, 5U}) {
      EXPECT_FALSE(sums->columns[c].finite) << c;
    }
  }
}

TEST(CandidateScanTest, NoCandidatesAndNoRowsAreNothing) {
  const auto family = Fourier(2);
  const FeatureRows rows = AllRows(NormalRows(10, 2, 5));
  const auto none = ScanCandidates(*family, rows, {}, Matrix::Ones(10, 2),
                                   FeaturePrecision::kSingle, RunContext());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->products.rows(), 0);
  const FeatureRows empty = AllRows(RowMatrix(0, 2));
  const auto zeros = ScanCandidates(*family, empty, Drawn(*family, 1, 1), Matrix(0, 1),
                                    FeaturePrecision::kSingle, RunContext());
  ASSERT_TRUE(zeros.ok());
  EXPECT_EQ(zeros->products, Matrix(Matrix::Zero(100, 1)));
  EXPECT_FALSE(GroupScales(FeatureNormalization::kColumn, ScaleScope::kPerTask,
                           {{absl::MakeConstSpan(zeros->columns).first(2), 0}})
                   .has_value());
}

TEST(CandidateScanTest, ColumnsOfAGroupDoNotDependOnThoseBesideIt) {
  const FeatureRows rows = AllRows(NormalRows(5001, 3, 1));
  const auto family = Fourier(3);
  const std::vector<FeatureParameters> groups = Drawn(*family, 7, 0);
  const auto count = static_cast<Index>(groups.size());
  Matrix together(rows.size(), 2 * count);
  ASSERT_TRUE(EvaluateColumns(*family, rows, groups, together, RunContext()).ok());
  for (Index g = 0; g < count; ++g) {
    Matrix alone(rows.size(), 2);
    ASSERT_TRUE(
        EvaluateColumns(*family, rows, {groups[static_cast<size_t>(g)]}, alone, RunContext()).ok());
    EXPECT_EQ(alone, together.middleCols(2 * g, 2)) << g;
  }
}

TEST(CandidateScanTest, CancelledWorkIsRefused) {
  const FeatureRows rows = AllRows(NormalRows(100, 2, 5));
  const auto family = Fourier(2);
  const CancellationToken token;
  token.Cancel();
  const RunContext context(token, 2, nullptr);
  const auto sums = ScanCandidates(*family, rows, Drawn(*family, 1, 1), Matrix::Ones(100, 1),
                                   FeaturePrecision::kSingle, context);
  EXPECT_EQ(sums.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(EvaluateCandidates(*family, rows, Drawn(*family, 1, 1), context).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(
      ScanColumns(SingleMatrix::Ones(100, 2), rows, Matrix::Ones(100, 1), context).status().code(),
      absl::StatusCode::kCancelled);
  Matrix out(100, 2);
  EXPECT_EQ(EvaluateColumns(*family, rows, {FeatureParameters{1.0, 0.5, 0.5}}, out, context).code(),
            absl::StatusCode::kCancelled);
}

TEST(CandidateScanTest, ColumnsOfDataAreSummedWithTheirFullRange) {
  RowMatrix values(3, 2);
  values << 1e60, 1e9 + 1, -1e60, 1e9 + 2, 2e60, 1e9 + 3;
  const FeatureRows rows = AllRows(values);
  const auto family = Columns(2);
  Matrix slopes(3, 1);
  slopes << 1, 1, -2;
  EXPECT_FALSE(family->searches_in_single());
  const auto sums = ScanCandidates(*family, rows, Drawn(*family, 3, 9), slopes,
                                   FeaturePrecision::kDouble, RunContext());
  ASSERT_TRUE(sums.ok());
  EXPECT_DOUBLE_EQ(sums->products(0, 0), -4e60);
  EXPECT_EQ(sums->products(1, 0), -3.0);
  EXPECT_EQ(sums->columns[0].largest, 2e60);
}

}  // namespace
}  // namespace mercer
