#include "core/solvers/group/feature_columns.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

Matrix RandomValues(Index rows, Index cols, uint64_t seed) {
  RandomStream random(seed, "feature-columns-test");
  Matrix values(rows, cols);
  for (double& value : values.reshaped()) {
    value = random.Normal();
  }
  return values;
}

// Columns appended in portions of `portion`; what they hold is in `stored`.
std::unique_ptr<FeatureColumns> Build(const Matrix& values, Index portion,
                                      ColumnPrecision precision, RunContext& context) {
  auto columns = std::make_unique<FeatureColumns>(values.rows(), precision);
  for (Index first = 0; first < values.cols(); first += portion) {
    const Index count = std::min(portion, values.cols() - first);
    EXPECT_EQ(columns->Append(values.middleCols(first, count), Vector::Zero(count),
                              Vector::Ones(count), context),
              absl::OkStatus());
  }
  return columns;
}

struct Shape {
  Index rows;
  Index cols;
};

class FeatureColumnsTest : public testing::TestWithParam<ColumnPrecision> {};

TEST_P(FeatureColumnsTest, ProductsMatchThoseOfTheStoredMatrix) {
  RunContext context;
  for (const Shape& shape : {Shape{1, 1}, {255, 3}, {2049, 17}, {5000, 70}}) {
    const auto columns = Build(RandomValues(shape.rows, shape.cols, 1), 3, GetParam(), context);
    const Matrix stored = columns->Columns(0, shape.cols);
    for (const Index width : {1, 2, 7}) {
      const Matrix x = RandomValues(shape.cols, width, 2);
      Matrix a = RandomValues(shape.rows, width, 3);
      for (Index i = 0; i < a.rows(); i += 2) {
        a.row(i).setZero();
      }
      Matrix scores(shape.rows, width);
      Matrix products(shape.cols, width);
      ASSERT_EQ(columns->Multiply(x, scores, context), absl::OkStatus());
      ASSERT_EQ(columns->MultiplyTransposed(a, products, context), absl::OkStatus());
      EXPECT_LE((scores - stored * x).cwiseAbs().maxCoeff(), 1e-12);
      EXPECT_LE((products - stored.transpose() * a).cwiseAbs().maxCoeff(), 1e-11);
    }
  }
}

TEST_P(FeatureColumnsTest, OnePassScoresAndReducesBySign) {
  RunContext context;
  for (const Index width : {1, 4}) {
    const auto columns = Build(RandomValues(3001, 10, 4), 2, GetParam(), context);
    const Matrix stored = columns->Columns(0, 10);
    const Matrix x = RandomValues(10, width, 5);
    Matrix positive(10, width);
    Matrix negative(10, width);
    Matrix seen = Matrix::Zero(3001, width);
    ASSERT_EQ(columns->ScoreAndReduce(
                  x,
                  [&](Index begin, const Matrix& scores, Matrix& slopes) {
                    seen.middleRows(begin, scores.rows()) = scores;
                    slopes = scores.array().cube().matrix();
                  },
                  positive, negative, context),
              absl::OkStatus());
    const Matrix scores = stored * x;
    EXPECT_LE((seen - scores).cwiseAbs().maxCoeff(), 1e-12);
    const Matrix slopes = scores.array().cube();
    EXPECT_TRUE(positive.isApprox(stored.transpose() * slopes.cwiseMax(0.0), 1e-12));
    EXPECT_TRUE(negative.isApprox(stored.transpose() * slopes.cwiseMin(0.0), 1e-12));
  }
}

TEST_P(FeatureColumnsTest, GramIsUpdatedByRows) {
  RunContext context;
  const auto columns = Build(RandomValues(2500, 70, 6), 9, GetParam(), context);
  const Matrix stored = columns->Columns(0, 70);
  std::vector<Index> rows;
  for (Index i = 0; i < 2500; i += 3) {
    rows.push_back(i);
  }
  const Vector weights = RandomValues(static_cast<Index>(rows.size()), 1, 7).cwiseAbs();
  Matrix gram = Matrix::Zero(70, 70);
  ASSERT_EQ(columns->AddGram(rows, weights, -2.0, gram, context), absl::OkStatus());
  const Matrix chosen = stored(rows, Eigen::all);
  const Matrix expected = -2.0 * chosen.transpose() * weights.asDiagonal() * chosen;
  const Matrix lower = gram.triangularView<Eigen::Lower>();
  const Matrix expected_lower = expected.triangularView<Eigen::Lower>();
  EXPECT_TRUE(lower.isApprox(expected_lower, 1e-12));
}

TEST_P(FeatureColumnsTest, AppendedColumnsAreCentredAndScaled) {
  RunContext context;
  const Matrix raw = RandomValues(100, 2, 8).array() + 1000;
  const Vector means = raw.colwise().mean().transpose();
  FeatureColumns columns(100, GetParam());
  ASSERT_EQ(columns.Append(raw, means, Vector{{2, 4}}, context), absl::OkStatus());
  const Matrix stored = columns.Columns(0, 2);
  for (Index j = 0; j < 2; ++j) {
    const Vector expected = (raw.col(j).array() - means(j)) / (j == 0 ? 2 : 4);
    EXPECT_LE((stored.col(j) - expected).cwiseAbs().maxCoeff(),
              GetParam() == ColumnPrecision::kSingle ? 2e-7 : 0.0);
  }
}

TEST_P(FeatureColumnsTest, PortionsAndThreadsDoNotChangeBits) {
  RunContext one;
  RunContext three(CancellationToken(), 3, nullptr);
  const Matrix values = RandomValues(7000, 40, 9);
  const auto first = Build(values, 40, GetParam(), one);
  const auto second = Build(values, 1, GetParam(), three);
  EXPECT_EQ(first->Columns(0, 40), second->Columns(0, 40));
  std::vector<Index> rows(7000);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<Index>(i);
  }
  for (const Index width : {1, 3}) {
    const Matrix x = RandomValues(40, width, 10);
    const Matrix a = RandomValues(7000, width, 11);
    Matrix scores[2] = {Matrix(7000, width), Matrix(7000, width)};
    Matrix products[2] = {Matrix(40, width), Matrix(40, width)};
    Matrix grams[2] = {Matrix::Zero(40, 40), Matrix::Zero(40, 40)};
    ASSERT_TRUE(first->Multiply(x, scores[0], one).ok());
    ASSERT_TRUE(second->Multiply(x, scores[1], three).ok());
    ASSERT_TRUE(first->MultiplyTransposed(a, products[0], one).ok());
    ASSERT_TRUE(second->MultiplyTransposed(a, products[1], three).ok());
    ASSERT_TRUE(first->AddGram(rows, Vector::Ones(7000), 1, grams[0], one).ok());
    ASSERT_TRUE(second->AddGram(rows, Vector::Ones(7000), 1, grams[1], three).ok());
    EXPECT_EQ(scores[0], scores[1]);
    EXPECT_EQ(products[0], products[1]);
    EXPECT_EQ(grams[0], grams[1]);
  }
}

TEST_P(FeatureColumnsTest, RoomThatIsMadeBeforeDoesNotChangeBits) {
  RunContext context;
  const Matrix values = RandomValues(3000, 40, 12);
  const auto grown = Build(values, 3, GetParam(), context);
  for (const Index room : {5, 40, 200}) {
    FeatureColumns reserved(values.rows(), GetParam());
    ASSERT_EQ(reserved.Append(values.leftCols(2), Vector::Zero(2), Vector::Ones(2), context),
              absl::OkStatus());
    ASSERT_EQ(reserved.Reserve(room, context), absl::OkStatus());
    EXPECT_EQ(reserved.cols(), 2);
    ASSERT_EQ(reserved.Append(values.rightCols(38), Vector::Zero(38), Vector::Ones(38), context),
              absl::OkStatus());
    EXPECT_EQ(reserved.Columns(0, 40), grown->Columns(0, 40));
    const Matrix x = RandomValues(40, 2, 13);
    Matrix scores(values.rows(), 2);
    Matrix expected(values.rows(), 2);
    ASSERT_EQ(reserved.Multiply(x, scores, context), absl::OkStatus());
    ASSERT_EQ(grown->Multiply(x, expected, context), absl::OkStatus());
    EXPECT_EQ(scores, expected);
  }
}

TEST_P(FeatureColumnsTest, CancellationLeavesTheColumnsAsTheyWere) {
  const Matrix values = RandomValues(5000, 4, 12);
  RunContext context;
  const auto columns = Build(values, 4, GetParam(), context);
  CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(
      absl::IsCancelled(columns->Append(values, Vector::Zero(4), Vector::Ones(4), cancelled)));
  EXPECT_EQ(columns->cols(), 4);
  Matrix scores(5000, 1);
  EXPECT_TRUE(absl::IsCancelled(columns->Multiply(Matrix::Ones(4, 1), scores, cancelled)));
  ASSERT_EQ(columns->Multiply(Matrix::Ones(4, 1), scores, context), absl::OkStatus());
  EXPECT_LE((scores - columns->Columns(0, 4).rowwise().sum()).cwiseAbs().maxCoeff(), 1e-13);
}

TEST_P(FeatureColumnsTest, GrowthStaysWithinItsBytes) {
  constexpr Index kRows = 40000;
  constexpr Index kCols = 100;
  const Matrix pair = RandomValues(kRows, 2, 13);
  RunContext context;
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  const int64_t grown = PeakGrowth([&] {
    FeatureColumns columns(kRows, GetParam());
    bool ok = true;
    for (Index j = 0; j < kCols; j += 2) {
      ok = ok && columns.Append(pair, Vector::Zero(2), Vector::Ones(2), context).ok();
    }
    return ok;
  });
  const size_t bytes = FeatureColumns::Bytes(kRows, kCols, GetParam());
  EXPECT_GT(grown, 0);
  EXPECT_LE(grown, static_cast<int64_t>(bytes) + kCodeAndStacks);
  const size_t value = GetParam() == ColumnPrecision::kSingle ? sizeof(float) : sizeof(double);
  EXPECT_LE(bytes, kRows * kCols * value * 5 / 4);
}

INSTANTIATE_TEST_SUITE_P(Precisions, FeatureColumnsTest,
                         testing::Values(ColumnPrecision::kSingle, ColumnPrecision::kDouble),
                         [](const auto& precision) {
                           return precision.param == ColumnPrecision::kSingle ? "Single" : "Double";
                         });

}  // namespace
}  // namespace mercer
